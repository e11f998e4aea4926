"""`aiayn report <noun>`."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from aiayn.commands.words import unknown_word_remedy
from aiayn.config.outputs import output_errors, output_file
from aiayn.errors import UserError
from aiayn.registry import Report, added_reports, named, publications_module
from aiayn.system.output_format import Format, output_format

if TYPE_CHECKING:  # `aiayn --help` lists the reports without importing OmegaConf
    from collections.abc import Mapping, Sequence

    from aiayn.config.report_schema import ReportConfig
    from aiayn.reports.beside_base import Summary
    from aiayn.reports.reported_runs import ReportedRun

RUNS = ("scale", "data", "sweep", "experiment")
TABLE = ("scale", "data")
MARKDOWN_OR_JSON = (".md", ".json")
DATA = ("publish", "published")

REPORTS = dict(
    sorted(
        {
            "comparison": Report(
                "aiayn.reports.comparison_grids:report_comparison", ("against", *DATA), RUNS, MARKDOWN_OR_JSON
            ),
            "configuration": Report("aiayn.commands.report:report_configuration"),
            "cost": Report("aiayn.reports.cost:report_cost", (), RUNS, MARKDOWN_OR_JSON),
            "fidelity": Report("aiayn.commands.report:report_fidelity", ("profiles",)),
            "matrix": Report(
                "aiayn.reports.matrix:report_matrix", ("run", "metrics", "comet_model"), (), MARKDOWN_OR_JSON
            ),
            "paper": Report("aiayn.commands.report:report_paper", ("table",)),
            "parameters": Report("aiayn.commands.report:report_parameters"),
            "reproductions": Report("aiayn.reports.reproductions:report_reproductions", DATA, TABLE, MARKDOWN_OR_JSON),
            "run": Report("aiayn.commands.report:report_run", ("run",)),
            "table2": Report("aiayn.reports.tables.table2:report_table2", DATA, TABLE, (".md", ".tex", ".json")),
            "table3": Report(
                "aiayn.commands.report:report_table3",
                ("study", "wandb", *DATA),
                (*TABLE, "like"),
                (".md", ".tex", ".csv", ".json"),
            ),
            **added_reports(),
        }.items()
    )
)
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
    with output_errors(config.publish or config.output):
        if config.publish is None and config.published is None:
            _report(config, output)
            return
        from aiayn.reports.formats import documents_collected, show

        publications = publications_module()
        if publications is None:
            raise UserError("publish=, from=: this installation publishes no reports; leave them out")
        if config.publish is not None:
            publications.publish(config, partial(_report, output=None))
            return
        with publications.published_runs(config, f"from={config.published}"), documents_collected() as documents:
            _report(config, None)
        show(documents[0], output)


def check_choice(noun: str, key: str, value: str) -> None:
    """Refuse a choice of runs that the report would ignore."""
    takes = [f"only.{name}" for name in REPORTS[noun].chooses_by]
    if key not in takes:
        by = f"chooses runs by {', '.join(takes)}" if takes else "chooses no runs"
        raise UserError(f"{key}={value}: report {noun} {by}")


def _report(config: "ReportConfig", output: Path | None) -> None:
    """Write or print a report, whose module is imported now."""
    named(REPORTS[config.noun].run)(config, output)


def report_configuration(_: "ReportConfig", output: Path | None) -> None:
    """The page of every key, or its content as JSON."""
    from aiayn.reports.configuration import report_configuration
    from aiayn.reports.configuration_content import print_configuration

    if output is None and output_format() is Format.json:
        print_configuration()
    else:
        report_configuration(output)


def report_fidelity(config: "ReportConfig", output: Path | None) -> None:
    """The settings in which profiles differ."""
    from aiayn.reports.fidelity import report_fidelity

    report_fidelity(config.profiles, output)


def report_paper(config: "ReportConfig", output: Path | None) -> None:
    """The paper's tables."""
    from aiayn.reports.paper import report_paper

    report_paper(config.table, output)


def report_parameters(_: "ReportConfig", output: Path | None) -> None:
    """The vocabulary and biases that the paper's numbers of parameters imply."""
    from aiayn.reports.parameters import report_parameters

    report_parameters(output)


def report_run(config: "ReportConfig", output: Path | None) -> None:
    """One run."""
    from aiayn.reports.run import report_run
    from aiayn.runs.directory import open_run

    if config.run is None:
        raise UserError("run has no value: state the run directory, as in run=runs/table3/base/...")
    report_run(open_run(config.run), output)


def report_table3(config: "ReportConfig", output: Path | None) -> None:
    """Table 3, also in the summaries of its runs in W&B."""
    from aiayn.reports.tables.table3 import report_table3

    report = report_table3(config, output)
    if config.wandb:
        from aiayn.reports.beside_base import of_table

        compared = [run for run in report.finished if run.row.id != "base"]
        _update_summaries(of_table(report, Path(config.paths.runs)), compared)


def _update_summaries(summaries: "Mapping[Path, Summary]", compared: "Sequence[ReportedRun]") -> None:
    from aiayn.reports.wandb_summaries import update_summaries  # imports wandb

    update_summaries(summaries, others=len(compared) - len(summaries))
