"""What this folder adds."""

from aiayn.registry import Command, Extension, Report

EXTENSION = Extension(
    commands={
        "dashboard": Command(
            "make a report and a workspace of W&B that show Table 3",
            module="aiayn.extensions.page.dashboard_command",
            schema="aiayn.extensions.page.schema:DashboardConfig",
            after="status",
        )
    },
    reports={
        "page": Report(
            "aiayn.extensions.page.writing:report_page",
            ("study", "watch", "plotly_bundle"),
            ("scale", "data", "like"),
            (".html", ".htm"),
            ("plotly_bundle",),
        )
    },
    values=("dashboard.yaml", "hydra/help/dashboard.yaml"),
)
