"""`aiayn report <noun>`."""

from pathlib import Path

from omegaconf import DictConfig

from aiayn.config.command_schema import ReportConfig
from aiayn.config.errors import UserError
from aiayn.config.freeze import typed
from aiayn.launch.signals import SignalledInterrupt

PAGE = "report.html"
"""Where the page goes unless it is said: it is no reading for a terminal."""


def main(composed: DictConfig) -> None:
    """Print a report, or write it."""
    config = typed(composed, ReportConfig)
    if config.output == "":
        raise UserError("output has no value: state a file, as in output=report.md")
    output = None if config.output is None else Path(config.output)
    try:
        _report(config, output)
    except OSError as error:
        if output is None and config.noun != "page":  # nothing was to be written: a file could not be read
            raise UserError(f"{error.filename}: {error.strerror}; mend the path or its permissions") from error
        raise UserError(f"output={config.output or PAGE}: {error.strerror}; choose another file") from error


def _report(config: ReportConfig, output: Path | None) -> None:
    if config.noun == "parameters":
        from aiayn.reports.parameters import report_parameters

        report_parameters(output)
    elif config.noun == "configuration":
        from aiayn.reports.configuration import report_configuration

        report_configuration(output)
    elif config.noun == "run":
        from aiayn.reports.run import report_run
        from aiayn.runs.directory import open_run

        if config.run is None:
            raise UserError("run has no value: state the run directory, as in run=runs/table3/base/...")
        report_run(open_run(config.run), output)
    elif config.noun == "paper":
        from aiayn.reports.paper import report_paper

        report_paper(config.table, output)
    elif config.noun == "page":
        _page(config, Path(PAGE) if output is None else output)
    elif config.noun == "table3":
        from aiayn.reports.table3_formats import report_table3

        report_table3(config, output)
    else:
        raise UserError(f"noun={config.noun}: choose from configuration, page, paper, parameters, run, table3")


def _page(config: ReportConfig, output: Path) -> None:
    from aiayn.reports.page.writing import report_page

    try:
        report_page(config, output)
    except SignalledInterrupt:
        raise
    except KeyboardInterrupt:
        if not config.watch:
            raise  # otherwise this is how it is ended
