"""`aiayn report <noun>`."""

from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from aiayn.commands.words import unknown_word_remedy
from aiayn.config.outputs import output_errors, output_file
from aiayn.errors import UserError
from aiayn.system.output_format import Format, output_format
from aiayn.system.signals import ended_by_ctrl_c

if TYPE_CHECKING:  # `aiayn --help` lists the reports without importing OmegaConf
    from collections.abc import Mapping, Sequence

    from aiayn.config.report_schema import ReportConfig
    from aiayn.reports.beside_base import Summary
    from aiayn.reports.reported_runs import ReportedRun

PAGE = "report.html"
"""The default file of the page, which no terminal can show."""


class Report(NamedTuple):
    """The arguments of one report besides `paths` and `output`."""

    keys: tuple[str, ...] = ()
    chooses_by: tuple[str, ...] = ()
    """Keys below `only`."""
    writes: tuple[str, ...] = (".md",)
    """Suffixes of `output`."""


RUNS = ("scale", "data", "sweep", "experiment")
TABLE = ("scale", "data")
MARKDOWN_OR_JSON = (".md", ".json")
DATA = ("publish", "published")

REPORTS = {
    "comparison": Report(("against", *DATA), RUNS, MARKDOWN_OR_JSON),
    "configuration": Report(),
    "cost": Report((), RUNS, MARKDOWN_OR_JSON),
    "fidelity": Report(("profiles",)),
    "hypotheses": Report(("study", "wandb", *DATA), (), MARKDOWN_OR_JSON),
    "matrix": Report(("run", "metrics", "comet_model"), (), MARKDOWN_OR_JSON),
    "page": Report(("study", "watch", "plotly_bundle"), (*TABLE, "like"), (".html", ".htm")),
    "paper": Report(("table",)),
    "parameters": Report(),
    "reproductions": Report(DATA, TABLE, MARKDOWN_OR_JSON),
    "run": Report(("run",)),
    "sharpness": Report(("sentences", "device", "trust"), RUNS, MARKDOWN_OR_JSON),
    "table1": Report(("seed",), (), MARKDOWN_OR_JSON),
    "table2": Report(DATA, TABLE, (".md", ".tex", ".json")),
    "table3": Report(("study", "wandb", *DATA), (*TABLE, "like"), (".md", ".tex", ".csv", ".json")),
    "table4": Report((), TABLE, (".md", ".tex", ".json")),
}
"""By noun."""


def check(config: "ReportConfig") -> None:
    """Refuse an unknown report, and keys that it would ignore."""
    from hydra.core.hydra_config import HydraConfig

    if config.noun not in REPORTS:
        raise UserError(f"noun={config.noun}: {unknown_word_remedy(config.noun, REPORTS)}")
    for word in HydraConfig.get().overrides.task:
        key = word.partition("=")[0].lstrip("+~")
        takers = [noun for noun, report in REPORTS.items() if key in report.keys]
        if takers and config.noun not in takers:
            written = word.replace("published=", "from=", 1) if key == "published" else word
            raise UserError(f"{written}: is for report {', '.join(takers)}; leave it out")


def main(config: "ReportConfig") -> None:
    """Print a report, or write it."""
    output = output_file(config.output, suffixes=REPORTS[config.noun].writes)
    for key, value in vars(config.only).items():
        if value is not None:
            check_choice(config.noun, f"only.{key}", value)
    if config.publish is not None and (output is not None or config.published is not None):
        raise UserError(f"publish={config.publish}: writes page and data of runs; leave output= and from= out")
    if config.wandb:
        if config.published is not None:
            raise UserError("wandb=true: writes to the runs below paths.runs; leave from= out")
        from aiayn.reports.wandb_summaries import check_online

        check_online()
    with output_errors(config.publish or config.output or (PAGE if config.noun == "page" else None)):
        if config.publish is None and config.published is None:
            _report(config, output)
            return
        from aiayn.reports.formats import documents_collected, show
        from aiayn.reports.publication import publish, published_runs

        if config.publish is not None:
            publish(config, partial(_report, output=None))
            return
        with published_runs(config, f"from={config.published}"), documents_collected() as documents:
            _report(config, None)
        show(documents[0], output)


def check_choice(noun: str, key: str, value: str) -> None:
    """Refuse a choice of runs that the report would ignore."""
    takes = [f"only.{name}" for name in REPORTS[noun].chooses_by]
    if key not in takes:
        by = f"chooses runs by {', '.join(takes)}" if takes else "chooses no runs"
        raise UserError(f"{key}={value}: report {noun} {by}")


def _report(config: "ReportConfig", output: Path | None) -> None:  # noqa: C901 (one case for each report)
    """Write or print a report; each imports what it needs."""
    match config.noun:
        case "comparison":
            from aiayn.reports.comparison_grids import report_comparison

            report_comparison(config, output)
        case "configuration":
            from aiayn.reports.configuration import report_configuration
            from aiayn.reports.configuration_content import print_configuration

            if output is None and output_format() is Format.json:
                print_configuration()
            else:
                report_configuration(output)
        case "cost":
            from aiayn.reports.cost import report_cost

            report_cost(config, output)
        case "fidelity":
            from aiayn.reports.fidelity import report_fidelity

            report_fidelity(config.profiles, output)
        case "hypotheses":
            from aiayn.reports.hypotheses import report_hypotheses

            study = report_hypotheses(config, output)
            if config.wandb:
                from aiayn.reports.beside_base import of_study

                _update_summaries(of_study(study), [run for row in study.compared_rows for run in study.runs_of(row)])
        case "matrix":
            from aiayn.reports.matrix import report_matrix

            report_matrix(config, output)
        case "page":
            from aiayn.reports.page.writing import report_page

            with ended_by_ctrl_c() if config.watch else nullcontext():
                report_page(config, Path(PAGE) if output is None else output)
        case "paper":
            from aiayn.reports.paper import report_paper

            report_paper(config.table, output)
        case "parameters":
            from aiayn.reports.parameters import report_parameters

            report_parameters(output)
        case "reproductions":
            from aiayn.reports.reproductions import report_reproductions

            report_reproductions(config, output)
        case "run":
            from aiayn.reports.run import report_run
            from aiayn.runs.directory import open_run

            if config.run is None:
                raise UserError("run has no value: state the run directory, as in run=runs/table3/base/...")
            report_run(open_run(config.run), output)
        case "sharpness":
            from aiayn.reports.sharpness import report_sharpness

            report_sharpness(config, output)
        case "table1":
            from aiayn.reports.tables.table1 import report_table1

            report_table1(output, seed=config.seed)
        case "table2":
            from aiayn.reports.tables.table2 import report_table2

            report_table2(config, output)
        case "table3":
            from aiayn.reports.tables.table3 import report_table3

            report = report_table3(config, output)
            if config.wandb:
                from aiayn.reports.beside_base import of_table

                compared = [run for run in report.finished if run.row.id != "base"]
                _update_summaries(of_table(report, Path(config.paths.runs)), compared)
        case "table4":
            from aiayn.reports.tables.table4 import report_table4

            report_table4(config, output)


def _update_summaries(summaries: "Mapping[Path, Summary]", compared: "Sequence[ReportedRun]") -> None:
    from aiayn.reports.wandb_summaries import update_summaries  # imports wandb

    update_summaries(summaries, others=len(compared) - len(summaries))
