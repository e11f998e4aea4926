"""`aiayn evaluate`."""

from aiayn.config.command_schema import EvaluateConfig
from aiayn.runs.directory import named_runs


def main(config: EvaluateConfig) -> None:
    """Decode and score a checkpoint, and print the scores."""
    names = named_runs(config.run)  # before torch is imported, which takes seconds
    from aiayn.inference.evaluation import evaluate_run
    from aiayn.reports.row import print_scores

    scores = evaluate_run(config)
    if scores:  # the first of several ranks has them
        print_scores(scores, run=names[0], title=" + ".join(names))
