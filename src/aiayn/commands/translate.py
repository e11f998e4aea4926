"""`aiayn translate`."""

from aiayn.config.command_schema import TranslateConfig
from aiayn.runs.directory import named_runs


def main(config: TranslateConfig) -> None:
    """Translate standard input line by line to standard output."""
    named_runs(config.run)  # before torch is imported, which takes seconds
    from aiayn.inference.translation import translate_input

    translate_input(config)
