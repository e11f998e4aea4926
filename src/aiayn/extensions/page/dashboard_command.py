"""`aiayn dashboard`."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aiayn.config.difference import job_type, row_of
from aiayn.config.freeze import frozen_content
from aiayn.config.outputs import output_errors, output_folder
from aiayn.errors import UserError
from aiayn.extensions.page.schema import DashboardConfig
from aiayn.runs.directory import RunDirectory
from aiayn.runs.record import json_text, read_record
from aiayn.system import files
from aiayn.system.extras import require

if TYPE_CHECKING:
    from aiayn.extensions.page.wandb_dashboard import Subject
    from aiayn.reports.tables.table3_results import Report


def main(config: DashboardConfig) -> None:
    """Make or update the report and the workspace and print their URLs, or show their content."""
    if config.output is not None and not config.dry_run:
        raise UserError(f"output={config.output}: nothing is written unless dry_run=true; state that as well")
    output = None if config.output is None else output_folder(config.output)
    require("wandb-workspaces", extra="dashboard", setting="aiayn dashboard")
    from aiayn.reports.tables.table3_results import read_table3, record_look_at  # imports numpy

    table = read_table3(config)
    record_look_at(table)
    subject = _subject(config, table)
    if config.dry_run:
        _show(table, subject, output)
        return
    from aiayn.extensions.page.wandb_views import save_dashboard
    from aiayn.system.quiet import quiet_libraries

    quiet_libraries()
    for url in save_dashboard(table, subject):
        print(url)  # noqa: T201


def _subject(config: DashboardConfig, table: "Report") -> "Subject":
    """The table's runs in W&B."""
    from aiayn.extensions.page.wandb_dashboard import Subject  # imports wandb, which takes a second

    if not table.runs:
        raise UserError(
            f"paths.runs={config.paths.runs}: no run of Table 3 has finished there, so nothing can be shown"
        )
    directory = RunDirectory(table.runs[0])
    record = read_record(directory.record)
    contents = [frozen_content(RunDirectory(path).config) for path in table.runs]
    tracker = contents[0].get("logger") or {}
    job_types: dict[str, list[str]] = {}
    identities = ((row_of(experiment), difference) for experiment, difference in map(_identity, contents))
    for row, difference in dict.fromkeys(identities):
        job_types.setdefault(row, []).append(job_type(row, difference))
    project = config.project or tracker.get("project")
    if not project:
        raise UserError(
            f"project has no value, and {directory.path} was not logged to W&B: state it, as in project=..."
        )
    return Subject(
        scale=record.scale,
        data=record.data,
        fidelity=record.fidelity,
        bleu_name=record.scores["dev"].bleu_name,
        project=project,
        entity=config.entity or tracker.get("entity") or "",
        difference=_identity(contents[0])[1],
        job_types=job_types,
    )


def _identity(content: Mapping[str, Any]) -> tuple[str, str]:
    """The experiment of a frozen configuration, and its difference from it."""
    identity = content.get("identity") or {}
    return str(identity.get("experiment")), identity.get("difference") or ""


def _show(table: "Report", subject: "Subject", output: Path | None) -> None:
    """Write the content to a folder, or print it."""
    from aiayn.extensions.page.wandb_dashboard import build_dashboard

    content = build_dashboard(table, subject).content()
    if output is None:
        print(json_text(content), end="")  # noqa: T201
        return
    with output_errors(str(output)):
        for name, view in content.items():
            files.write_text(output / f"{name}.json", json_text(view))
    print(output)  # noqa: T201
