"""A report refuses keys that it does not heed: they would change nothing."""

from collections.abc import Callable
from typing import Any

import pytest

from aiayn.commands.report import OF_FEW, REPORTS
from aiayn.config.report_schema import ReportConfig

CommandLine = Callable[..., Any]


def test_every_key_is_one_of_all_reports_or_of_some() -> None:
    assert {*OF_FEW} | {"noun", "output", "only", "paths"} == {*ReportConfig.__annotations__}
    assert {noun for nouns in OF_FEW.values() for noun in nouns} <= {*REPORTS}


@pytest.mark.parametrize(
    ("noun", "word"),
    [("parameters", "seed=3"), ("table1", "resamples=200"), ("paper", "device=cpu"), ("run", "table=3")],
)
def test_a_key_of_another_report_is_refused(aiayn: CommandLine, noun: str, word: str) -> None:
    said = aiayn("report", noun, word)
    assert (said.code, said.err) == (
        2,
        f"aiayn: {word}: is for report {', '.join(OF_FEW[word.split('=')[0]])}; leave it out\n",
    )


@pytest.mark.parametrize("verb", ["status", "sync", "dashboard"])
def test_a_command_that_reads_no_corpus_has_no_cache(aiayn: CommandLine, verb: str) -> None:
    assert aiayn(verb, "paths.cache=elsewhere").err == "aiayn: paths.cache: no such key; it has runs\n"


def test_a_group_waits_no_negative_time(aiayn: CommandLine) -> None:
    said = aiayn("evaluate", "run=x", "launch.timeout_seconds=0")
    assert said.err == "aiayn: launch.timeout_seconds=0: must be at least 1\n"


def test_a_device_without_speed_is_not_planned_for(aiayn: CommandLine) -> None:
    said = aiayn("plan", "hardware.memory_gib=-1")
    assert said.err.startswith("aiayn: hardware.memory_gib=-1.0: must be greater than 0, or null")
