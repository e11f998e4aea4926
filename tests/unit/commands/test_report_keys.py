"""The table of reports knows every key."""

from dataclasses import fields

from aiayn.commands.report import REPORTS
from aiayn.config.report_schema import OnlyComparedConfig, OnlyConfig, ReportConfig


def test_every_key_is_taken_by_some_report() -> None:
    assert {key for report in REPORTS.values() for key in report.keys} | {"noun", "output", "only", "paths"} == {
        field.name for field in fields(ReportConfig)
    }
    assert {key for report in REPORTS.values() for key in report.chooses_by} == {
        *OnlyConfig.__annotations__,
        *OnlyComparedConfig.__annotations__,
    }
