"""The command reads the outcomes that its jobs write, in any process."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiayn.errors import UserError
from aiayn.runs.directory import RunDirectory
from aiayn.runs.ledger import SweptJob
from aiayn.sweep.outcomes import Outcome, OutcomeFolder

words = st.lists(st.text(max_size=10), max_size=3).map(tuple)


@given(number=st.integers(0, 2**31), overrides=words, failure=st.none() | st.text(), has_ended=st.booleans())
def test_an_outcome_is_read_as_it_was_written(
    tmp_path_factory: pytest.TempPathFactory,
    number: int,
    overrides: tuple[str, ...],
    failure: str | None,
    has_ended: bool,
) -> None:
    swept = SweptJob("table3/base", number, overrides, RunDirectory(Path("/runs/table3/base")))
    for job in (swept, None):
        outcome = Outcome(number, overrides, 1, job, has_ended=has_ended, failure=failure, result={"a": [1.5]})
        folder = OutcomeFolder.make(tmp_path_factory.mktemp("runs"))
        folder.write(outcome)
        assert folder.read() == [outcome]
        folder.remove()


def test_infinite_results_and_paths_that_are_not_utf8_are_read(tmp_path: Path) -> None:
    folder = OutcomeFolder.make(tmp_path)
    folder.write(
        Outcome(1, (), 1, None, failure="a\udcff: no such file", result={"ppl": float("inf"), "path": tmp_path})
    )
    (outcome,) = folder.read()
    assert (outcome.failure, outcome.result) == ("a?: no such file", {"ppl": None, "path": str(tmp_path)})


def test_a_damaged_outcome_is_named(tmp_path: Path) -> None:
    folder = OutcomeFolder.make(tmp_path)
    (folder.path / "1.json").write_text("[" * 60_000)
    with pytest.raises(UserError, match=r"1\.json: not JSON"):
        folder.read()


def test_a_multirun_reads_its_jobs_in_order_and_leaves_nothing(tmp_path: Path) -> None:
    folder = OutcomeFolder.make(tmp_path / "runs")
    for number in (10, 2, 1):
        folder.write(Outcome(number, (), 1, None))
    assert [outcome.number for outcome in folder.read()] == [1, 2, 10]
    before = folder.is_stopped
    folder.stop()
    assert (before, folder.is_stopped) == (False, True)
    folder.remove()
    folder.write(Outcome(3, (), 1, None))
    assert list((tmp_path / "runs").iterdir()) == [], "the folder has been removed"


def test_outcomes_of_a_killed_command_are_not_read(tmp_path: Path) -> None:
    OutcomeFolder.make(tmp_path).write(Outcome(1, (), 1, None))
    assert OutcomeFolder.make(tmp_path).read() == []


def test_a_job_with_too_many_devices_is_refused(aiayn: Any, tmp_path: Path) -> None:
    words = ("trainer=cpu", "trainer.devices=4096", "logger=none", "hydra/launcher=joblib")
    said = aiayn("train", "-m", *words)
    assert said.code == 1
    (refusal,) = (line for line in said.err.splitlines() if line.startswith("aiayn: trainer.devices=4096: "))
    assert "state fewer devices" in refusal
    assert said.out.endswith("1 refused\n")
    assert not list(tmp_path.rglob(".jobs-*"))


@pytest.mark.long
def test_return_values_come_back_from_other_processes(aiayn: Any, tmp_path: Path) -> None:
    words = ["plan", "-m", "experiment=table3/base,table3/a_h1", "scale=paper"]
    alone = aiayn(*words).out
    line = [sys.executable, "-m", "aiayn", *words, "hydra/launcher=joblib", "hydra.launcher.n_jobs=2"]
    beside = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert beside == alone
    assert "2 runs" in alone
