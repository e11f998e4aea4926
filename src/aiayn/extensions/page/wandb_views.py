"""The report and the workspace on W&B's server: found by their titles, created or replaced."""

from dataclasses import replace
from typing import Any

import wandb

from aiayn.errors import UserError
from aiayn.extensions.page.wandb_dashboard import Subject, build_dashboard
from aiayn.extensions.page.workspaces_internals import asked_views, replace_saved
from aiayn.reports.tables.table3_results import Report
from aiayn.tracking.wandb_session import failures_explained, has_credentials, host

REPORTS, WORKSPACES = "runs", "project-view"
"""W&B's kinds of views."""


def save_dashboard(table: Report, subject: Subject) -> list[str]:
    """Create or update both in the project of the runs, and return their addresses.

    Raises:
        UserError: not logged in, or there is no such project.
        RunFailedError: the server does not answer, or refuses.
    """
    if not has_credentials():  # on a terminal, W&B's client would ask for a key
        raise UserError("W&B: not logged in (wandb login, or WANDB_API_KEY); dry_run=true needs no account")
    with failures_explained():
        api = wandb.Api()
        if not (entity := subject.entity or api.default_entity):
            raise UserError("entity=null: your account has no default; state the user or team of the project")
        subject = replace(subject, entity=entity)
        dashboard = build_dashboard(table, subject)
        report, workspace = dashboard.report, dashboard.workspace
        if there := _find(api, subject, REPORTS):
            report.id = there["id"]
        if there := _find(api, subject, WORKSPACES):
            replace_saved(workspace, there)
        report.save()
        workspace.save()
        return [report.url, workspace.url]


def _find(api: Any, subject: Subject, kind: str) -> dict[str, str] | None:
    """The view of this kind that has the subject's title, or None."""
    cursor = None
    while True:
        project = asked_views(api, project=subject.project, entity=subject.entity, viewType=kind, cursor=cursor)
        if project is None:
            raise UserError(
                f"project={subject.project}: {subject.entity} has no such project on {host()}; name that of the runs, "
                "or send them there first (aiayn sync)"
            )
        views = project["allViews"]
        for edge in views["edges"]:
            if edge["node"]["displayName"] == subject.title:
                found: dict[str, str] = edge["node"]
                return found
        if not views["pageInfo"]["hasNextPage"]:
            return None
        cursor = views["pageInfo"]["endCursor"]
