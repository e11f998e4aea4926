"""`aiayn parse`."""

from aiayn.extensions.parsing.schema import ParseConfig
from aiayn.runs.directory import named_runs


def main(config: ParseConfig) -> None:
    """Parse standard input line by line to trees on standard output."""
    named_runs(config.run)  # before torch is imported, which takes seconds
    from aiayn.extensions.parsing.parse_input import parse_input

    parse_input(config)
