"""`aiayn translate`."""

from omegaconf import DictConfig

from aiayn.config.command_schema import TranslateConfig
from aiayn.config.freeze import typed
from aiayn.launch.signals import ended_as_interrupted
from aiayn.runs.directory import open_run


def main(composed: DictConfig) -> None:
    """Translate standard input line by line to standard output."""
    config = typed(composed, TranslateConfig)
    open_run(config.run)  # before torch is imported, which takes seconds
    from aiayn.launch.translation import translate_input

    with ended_as_interrupted():
        translate_input(config)
