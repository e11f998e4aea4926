"""Parts of wandb-workspaces that it does not document, where it has no public way; as read in 0.4.13.

`tests/unit/test_internals_of_others.py` compares them with the installed version.
"""

import json
from typing import Any

from wandb_workspaces._graphql import execute_graphql

VIEWS = """
query ProjectViews($project: String!, $entity: String!, $viewType: String!, $cursor: String) {
  project(name: $project, entityName: $entity) {
    allViews(viewType: $viewType, first: 100, after: $cursor) {
      edges { node { id name displayName } }
      pageInfo { endCursor hasNextPage }
    }
  }
}
"""


def asked_views(api: Any, **variables: str | None) -> dict[str, Any] | None:
    """A page of a project's views, by a query of W&B's own page; None: no such project.

    `wandb.Api.reports` lists the reports, and nothing the workspaces.
    """
    project: dict[str, Any] | None = execute_graphql(api, VIEWS, variables)["project"]
    return project


def replace_saved(workspace: Any, saved: dict[str, str]) -> None:
    """Have a new workspace saved in the place of one that is there; a report has a public `id` for that."""
    workspace._internal_id, workspace._internal_name = saved["id"], saved["name"]  # noqa: SLF001


def content_of(view: Any) -> dict[str, Any]:
    """A report or a workspace as `save` would send it."""
    content: dict[str, Any] = json.loads(view._to_model().model_dump_json(by_alias=True, exclude_none=True))  # noqa: SLF001
    return content
