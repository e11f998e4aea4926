"""`aiayn inspect`."""

from aiayn.config.outputs import output_errors, output_file
from aiayn.config.schema import InspectConfig
from aiayn.config.validation import validate


def check(config: InspectConfig) -> None:
    """Refuse a run that `aiayn train` would refuse, and a file that cannot be written."""
    validate(config)
    output_file(config.output, suffixes=(".md", ".json"))


def main(config: InspectConfig) -> None:
    """Print the layers of the configuration's model, or write them."""
    output = output_file(config.output)
    from aiayn.reports.inspection import report_inspection  # imports torch

    with output_errors(config.output):
        report_inspection(config, output)
