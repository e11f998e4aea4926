"""`aiayn report <noun>`."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig

from aiayn.config.freeze import typed
from aiayn.config.outputs import output_file
from aiayn.config.report_schema import ReportConfig
from aiayn.errors import UserError
from aiayn.system.signals import SignalledInterrupt

PAGE = "report.html"
"""Where the page goes unless it is said: it is no reading for a terminal."""


def checked(composed: DictConfig) -> ReportConfig:
    """The configuration, as far as it can be judged without files.

    Raises:
        UserError: the command would refuse it.
    """
    config = typed(composed, ReportConfig)
    if config.noun not in REPORTS:
        raise UserError(f"noun={config.noun}: choose from {', '.join(REPORTS)}")
    for word in HydraConfig.get().overrides.task:
        key = word.partition("=")[0].lstrip("+~")
        if key in OF_FEW and config.noun not in OF_FEW[key]:
            raise UserError(f"{word}: is for report {', '.join(OF_FEW[key])}; leave it out")
    return config


def main(composed: DictConfig) -> None:
    """Print a report, or write it."""
    config = checked(composed)
    output = output_file(config.output)
    try:
        _report(config, output)
    except OSError as error:
        if output is None and config.noun != "page":  # nothing was to be written: a file could not be read
            raise UserError(f"{error.filename}: {error.strerror}; mend the path or its permissions") from error
        raise UserError(f"output={config.output or PAGE}: {error.strerror}; choose another file") from error


def _report(config: ReportConfig, output: Path | None) -> None:
    writes = WRITES.get(config.noun, (".md",))
    if output is not None and output.suffix not in writes:
        raise UserError(f"output={output}: the suffix says the format; choose from {', '.join(writes)}")
    takes = CHOOSES_BY.get(config.noun, ())
    for key, value in vars(config.only).items():
        if value is not None and key not in takes:  # a table of other runs than were asked for would mislead
            by = f"chooses runs by {', '.join(f'only.{each}' for each in takes)}" if takes else "chooses no runs"
            raise UserError(f"only.{key}={value}: report {config.noun} {by}")
    REPORTS[config.noun](config, output)


def _comparison(config: ReportConfig, output: Path | None) -> None:
    from aiayn.reports.comparison_grids import report_comparison

    report_comparison(config, output)


def _configuration(_: ReportConfig, output: Path | None) -> None:
    from aiayn.reports.configuration import report_configuration

    report_configuration(output)


def _cost(config: ReportConfig, output: Path | None) -> None:
    from aiayn.reports.cost import report_cost

    report_cost(config, output)


def _fidelity(config: ReportConfig, output: Path | None) -> None:
    from aiayn.reports.fidelity import report_fidelity

    report_fidelity(config.profiles, output)


def _matrix(config: ReportConfig, output: Path | None) -> None:
    from aiayn.reports.matrix import report_matrix

    report_matrix(config, output)


def _paper(config: ReportConfig, output: Path | None) -> None:
    from aiayn.reports.paper import report_paper

    report_paper(config.table, output)


def _parameters(_: ReportConfig, output: Path | None) -> None:
    from aiayn.reports.parameters import report_parameters

    report_parameters(output)


def _run(config: ReportConfig, output: Path | None) -> None:
    from aiayn.reports.run import report_run
    from aiayn.runs.directory import open_run

    if config.run is None:
        raise UserError("run has no value: state the run directory, as in run=runs/table3/base/...")
    report_run(open_run(config.run), output)


def _sharpness(config: ReportConfig, output: Path | None) -> None:
    from aiayn.inference.sharpness import measure_sharpness
    from aiayn.reports.sharpness import report_sharpness

    if config.sentences < 1:
        raise UserError(f"sentences={config.sentences}: must be at least 1")
    cache = Path(config.paths.cache)
    measure = partial(measure_sharpness, cache=cache, sentences=config.sentences, device=config.device)
    report_sharpness(config, output, measure)


def _table1(config: ReportConfig, output: Path | None) -> None:
    from aiayn.reports.tables.table1 import report_table1

    report_table1(output, seed=config.seed)


def _table2(config: ReportConfig, output: Path | None) -> None:
    from aiayn.reports.tables.table2 import report_table2

    report_table2(config, output)


def _table3(config: ReportConfig, output: Path | None) -> None:
    from aiayn.reports.tables.table3 import report_table3

    report_table3(config, output)


def _table4(config: ReportConfig, output: Path | None) -> None:
    from aiayn.reports.tables.table4 import report_table4

    report_table4(config, output)


def _page(config: ReportConfig, output: Path | None) -> None:
    from aiayn.reports.page.writing import report_page

    try:
        report_page(config, Path(PAGE) if output is None else output)
    except SignalledInterrupt:
        raise
    except KeyboardInterrupt:
        if not config.watch:
            raise  # otherwise this is how it is ended


CHOOSES_BY: Mapping[str, Sequence[str]] = {
    "comparison": ("scale", "data", "sweep", "experiment"),
    "cost": ("scale", "data", "sweep", "experiment"),
    "page": ("scale", "data", "like"),
    "sharpness": ("scale", "data", "sweep", "experiment"),
    "table2": ("scale", "data"),
    "table3": ("scale", "data", "like"),
    "table4": ("scale", "data"),
}
"""By noun: the keys below `only` that it goes by."""

OF_FEW: Mapping[str, Sequence[str]] = {
    "run": ("run", "matrix"),
    "table": ("paper",),
    "watch": ("page",),
    "plotly_bundle": ("page",),
    "profiles": ("fidelity",),
    "against": ("comparison",),
    "metrics": ("matrix",),
    "comet_model": ("matrix",),
    "sentences": ("sharpness",),
    "device": ("sharpness",),
    "resamples": ("comparison", "page", "table2", "table3"),
    "seed": ("comparison", "page", "table1", "table2", "table3"),
}
"""By key: the nouns that heed it; for the others it would change nothing."""

WRITES: Mapping[str, Sequence[str]] = {
    "comparison": (".md", ".json"),
    "cost": (".md", ".json"),
    "matrix": (".md", ".json"),
    "page": (".html", ".htm"),
    "sharpness": (".md", ".json"),
    "table1": (".md", ".json"),
    "table2": (".md", ".tex", ".json"),
    "table3": (".md", ".tex", ".csv", ".json"),
    "table4": (".md", ".tex", ".json"),
}
"""By noun: the suffixes of the files that it can write; the others write Markdown alone."""

REPORTS: Mapping[str, Callable[[ReportConfig, Path | None], None]] = {
    "comparison": _comparison,
    "configuration": _configuration,
    "cost": _cost,
    "fidelity": _fidelity,
    "matrix": _matrix,
    "page": _page,
    "paper": _paper,
    "parameters": _parameters,
    "run": _run,
    "sharpness": _sharpness,
    "table1": _table1,
    "table2": _table2,
    "table3": _table3,
    "table4": _table4,
}
"""By noun; each imports what it needs."""
