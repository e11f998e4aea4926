"""A report refuses keys that it would ignore."""

from collections.abc import Callable
from typing import Any

import pytest

from aiayn.commands.report import REPORTS
from aiayn.config.report_schema import OnlyComparedConfig, OnlyConfig, ReportConfig

CommandLine = Callable[..., Any]


def test_every_key_is_taken_by_some_report() -> None:
    assert {key for report in REPORTS.values() for key in report.keys} | {"noun", "output", "only", "paths"} == {
        *ReportConfig.__annotations__
    }
    assert {key for report in REPORTS.values() for key in report.chooses_by} == {
        *OnlyConfig.__annotations__,
        *OnlyComparedConfig.__annotations__,
    }


@pytest.mark.parametrize(
    ("noun", "word", "takers"),
    [("table1", "resamples=200", "comparison, page, table2, table3"), ("run", "table=3", "paper")],
)
def test_a_key_of_another_report_is_refused(aiayn: CommandLine, noun: str, word: str, takers: str) -> None:
    said = aiayn("report", noun, word)
    assert (said.code, said.err) == (2, f"aiayn: {word}: is for report {takers}; leave it out\n")


def test_a_command_that_reads_no_corpus_has_no_cache(aiayn: CommandLine) -> None:
    assert aiayn("status", "paths.cache=elsewhere").err == "aiayn: paths.cache: no such key; it has runs\n"
