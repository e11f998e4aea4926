"""`aiayn translate`."""

from omegaconf import DictConfig

from aiayn.config.command_schema import TranslateConfig
from aiayn.config.freeze import typed
from aiayn.runs.directory import named_runs, open_run
from aiayn.system.signals import signals_as_interrupts


def checked(composed: DictConfig) -> TranslateConfig:
    """The configuration, as far as it can be judged without files.

    Raises:
        UserError: the command would refuse it.
    """
    return typed(composed, TranslateConfig)


def main(composed: DictConfig) -> None:
    """Translate standard input line by line to standard output."""
    config = checked(composed)
    for name in named_runs(config.run):  # before torch is imported, which takes seconds
        open_run(name)
    from aiayn.inference.translation import translate_input

    with signals_as_interrupts():
        translate_input(config)
