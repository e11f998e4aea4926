"""`aiayn evaluate`."""

from omegaconf import DictConfig

from aiayn.config.command_schema import EvaluateConfig
from aiayn.config.freeze import to_dataclass
from aiayn.runs.directory import named_runs, open_run


def checked(composed: DictConfig) -> EvaluateConfig:
    """The configuration, as far as it can be judged without files.

    Raises:
        UserError: the command would refuse it.
    """
    return to_dataclass(composed, EvaluateConfig)


def main(composed: DictConfig) -> None:
    """Decode and score a checkpoint, and print the scores."""
    config = checked(composed)
    names = named_runs(config.run)
    for name in names:  # before torch is imported, which takes seconds
        open_run(name)
    from aiayn.inference.evaluation import evaluate_run
    from aiayn.reports.row import print_scores

    scores = evaluate_run(config)
    if scores:  # the first of several ranks has them
        print_scores(scores, run=names[0], title=" + ".join(names))
