"""`aiayn translate`."""

from omegaconf import DictConfig

from aiayn.config.command_schema import TranslateConfig
from aiayn.config.freeze import typed
from aiayn.launch.signals import ended_as_interrupted
from aiayn.runs.directory import named_runs, open_run


def main(composed: DictConfig) -> None:
    """Translate standard input line by line to standard output."""
    config = typed(composed, TranslateConfig)
    for name in named_runs(config.run):  # before torch is imported, which takes seconds
        open_run(name)
    from aiayn.launch.translation import translate_input

    with ended_as_interrupted():
        translate_input(config)
