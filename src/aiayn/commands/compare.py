"""`aiayn compare`."""

from aiayn.config.outputs import output_errors, output_file
from aiayn.config.report_schema import CompareConfig


def main(config: CompareConfig) -> None:
    """Compare two runs sentence by sentence; print or write the comparison."""
    output = output_file(config.output, suffixes=(".md", ".json"))
    from aiayn.reports.paired import report_paired

    with output_errors(config.output):
        report_paired(config, output)
