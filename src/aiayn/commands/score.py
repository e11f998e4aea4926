"""`aiayn score`."""

from omegaconf import DictConfig

from aiayn.config.command_schema import ScoreConfig
from aiayn.config.freeze import typed
from aiayn.runs.directory import named_runs, open_run
from aiayn.system.signals import signals_as_interrupts


def checked(composed: DictConfig) -> ScoreConfig:
    """The configuration, as far as it can be judged without files.

    Raises:
        UserError: the command would refuse it.
    """
    return typed(composed, ScoreConfig)


def main(composed: DictConfig) -> None:
    """Write the likelihood of each sentence pair to standard output."""
    config = checked(composed)
    for name in named_runs(config.run):  # before torch is imported, which takes seconds
        open_run(name)
    from aiayn.inference.pair_scoring import score_input

    with signals_as_interrupts():
        score_input(config)
