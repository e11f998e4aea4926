"""`aiayn evaluate`."""

from omegaconf import DictConfig

from aiayn.config.freeze import typed
from aiayn.config.schema import EvaluateConfig


def main(composed: DictConfig) -> None:
    """Decode and score a checkpoint, and print the scores."""
    config = typed(composed, EvaluateConfig)
    from aiayn.launch.evaluation import evaluate_run
    from aiayn.reports.row import print_scores

    print_scores(evaluate_run(config), run=config.run)
