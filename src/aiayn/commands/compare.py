"""`aiayn compare`."""

from pathlib import Path

from omegaconf import DictConfig

from aiayn.config.errors import UserError
from aiayn.config.freeze import typed
from aiayn.config.report_schema import CompareConfig


def main(composed: DictConfig) -> None:
    """Compare two runs sentence by sentence, and print it or write it."""
    config = typed(composed, CompareConfig)
    if config.output == "":
        raise UserError("output has no value: state a file, as in output=comparison.md")
    from aiayn.reports.paired_formats import report_paired

    try:
        report_paired(config, None if config.output is None else Path(config.output))
    except OSError as error:
        if config.output is None:  # nothing was to be written: a file could not be read
            raise UserError(f"{error.filename}: {error.strerror}; mend the path or its permissions") from error
        raise UserError(f"output={config.output}: {error.strerror}; choose another file") from error
