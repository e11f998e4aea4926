"""`aiayn compare`."""

from omegaconf import DictConfig

from aiayn.config.freeze import typed
from aiayn.config.outputs import output_file
from aiayn.config.report_schema import CompareConfig
from aiayn.errors import UserError


def checked(composed: DictConfig) -> CompareConfig:
    """The configuration, as far as it can be judged without files.

    Raises:
        UserError: the command would refuse it.
    """
    return typed(composed, CompareConfig)


def main(composed: DictConfig) -> None:
    """Compare two runs sentence by sentence, and print it or write it."""
    config = checked(composed)
    output = output_file(config.output)
    from aiayn.reports.paired_grids import report_paired

    try:
        report_paired(config, output)
    except OSError as error:
        if config.output is None:  # nothing was to be written: a file could not be read
            raise UserError(f"{error.filename}: {error.strerror}; mend the path or its permissions") from error
        raise UserError(f"output={config.output}: {error.strerror}; choose another file") from error
