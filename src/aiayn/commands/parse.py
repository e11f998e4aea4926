"""`aiayn parse`."""

from aiayn.config.command_schema import ParseConfig
from aiayn.runs.directory import named_runs, open_run


def main(config: ParseConfig) -> None:
    """Parse standard input line by line to trees on standard output."""
    for name in named_runs(config.run):  # before torch is imported, which takes seconds
        open_run(name)
    from aiayn.inference.parsing import parse_input

    parse_input(config)
