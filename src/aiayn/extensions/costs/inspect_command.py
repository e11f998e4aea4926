"""`aiayn inspect`."""

from aiayn.config.outputs import output_errors, output_file
from aiayn.config.validation import validate
from aiayn.extensions.costs.schema import InspectConfig


def check(config: InspectConfig) -> None:
    """Refuse a run that `aiayn train` would refuse, and a file that cannot be written."""
    validate(config)
    output_file(config.output, suffixes=(".md", ".json"))


def main(config: InspectConfig) -> None:
    """Print the layers of the configuration's model, or write them."""
    output = output_file(config.output)
    from aiayn.extensions.costs.inspection_report import report_inspection  # imports torch

    with output_errors(config.output):
        report_inspection(config, output)
