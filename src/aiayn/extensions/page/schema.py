"""The schema of `aiayn dashboard`."""

from dataclasses import dataclass

from omegaconf import MISSING

from aiayn.config.report_schema import OnlyConfig
from aiayn.config.schema import RunsPathConfig
from aiayn.config.values import text_or_null, true_or_false


@dataclass
class DashboardConfig:
    """`aiayn dashboard`."""

    project: str | None = text_or_null()
    """Project of the runs in W&B; null: as the runs were configured."""
    entity: str | None = text_or_null()
    """User or team of the project; null: as the runs were configured, else the default of your account."""
    dry_run: bool = true_or_false()
    """Send nothing; show the report and the workspace as JSON."""
    output: str | None = text_or_null()
    """With dry_run: a folder for report.json and workspace.json; null prints them."""
    study: str | None = text_or_null()
    """A pre-registered study whose runs the table uses; null: no choice by study."""
    only: OnlyConfig = MISSING
    """The runs below paths.runs that the table uses."""
    paths: RunsPathConfig = MISSING
    """Folders."""
