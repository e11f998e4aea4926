"""`aiayn score`."""

from aiayn.config.command_schema import ScoreConfig
from aiayn.runs.directory import named_runs


def main(config: ScoreConfig) -> None:
    """Write the likelihood of each sentence pair to standard output."""
    named_runs(config.run)  # before torch is imported, which takes seconds
    from aiayn.inference.pair_scoring import score_input

    score_input(config)
