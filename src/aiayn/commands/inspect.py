"""`aiayn inspect`."""

from pathlib import Path

from aiayn.config.outputs import output_errors, output_file
from aiayn.config.schema import InspectConfig
from aiayn.config.validation import validate
from aiayn.errors import UserError


def check(config: InspectConfig) -> None:
    """Refuse a run that `aiayn train` would refuse, and a file that cannot be written."""
    validate(config)
    suffix = None if config.output is None else Path(config.output).suffix
    if suffix not in (None, ".md", ".json"):
        raise UserError(f"output={config.output}: the suffix says the format; choose from .md, .json")


def main(config: InspectConfig) -> None:
    """Print the layers of the configuration's model, or write them."""
    output = output_file(config.output)
    from aiayn.reports.inspection import report_inspection  # imports torch

    with output_errors(config.output):
        report_inspection(config, output)
