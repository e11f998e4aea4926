"""Runs of real processes resume exactly after SIGKILL, and with another number of ranks."""

import json
import signal
import subprocess
from collections.abc import Callable
from itertools import chain
from pathlib import Path

import pytest
from commands import AIAYN, signal_at
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st
from run_files import assert_same_end, only_run, timeless_metrics

from aiayn.runs.record import Status, read_record

pytestmark = pytest.mark.long

Start = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def start(tiny: tuple[str, ...]) -> Start:
    """Train as a user would, in a folder; `seen` is where the ranks write there what they see."""

    def start(folder: Path, *words: str, seen: str = "seen") -> subprocess.CompletedProcess[str]:
        folder.mkdir(exist_ok=True)
        recorder = f"+callbacks.recorder={{_target_: observers.RankRecorder, folder: {folder / seen}}}"
        return subprocess.run(
            [*AIAYN, "train", *tiny, "logger=none", *words, recorder],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    return start


def steps(seen: Path) -> dict[int, list[list[int]]]:
    """Of each step, the sentences of its micro-batches over all ranks, sorted."""
    found: dict[int, list[list[int]]] = {}
    for path in seen.glob("rank-*.jsonl"):
        for line in path.read_text().splitlines():
            micro_batch = json.loads(line)
            found.setdefault(micro_batch["step"], []).append(sorted(micro_batch["sentences"]))
    return {step: sorted(batches) for step, batches in sorted(found.items())}


def sentences(steps: dict[int, list[list[int]]]) -> dict[int, list[int]]:
    return {step: sorted(chain.from_iterable(batches)) for step, batches in steps.items()}


THIRDS = "optimization.max_tokens_per_device=200"
"""Three micro-batches make a step, so most kills come in mid-accumulation."""


@pytest.fixture(scope="module")
def whole(start: Start, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an undisturbed run."""
    folder = tmp_path_factory.mktemp("whole")
    result = start(folder, THIRDS)
    assert result.returncode == 0, result.stderr
    return folder


def test_a_run_killed_at_any_micro_batch_resumes_exactly(start: Start, whole: Path, tmp_path: Path) -> None:
    """By SIGKILL, which cannot be handled."""
    expected = steps(whole / "seen")

    @settings(max_examples=2, deadline=None, phases=[Phase.explicit, Phase.generate])
    @example([13, 26])  # in the middle of the fifth step, and of the ninth
    @given(st.lists(st.integers(1, 35), min_size=1, max_size=2, unique=True).map(sorted))
    def check(kills: list[int]) -> None:
        cut = tmp_path / "-".join(map(str, kills))
        for kill in kills:
            result = start(cut, THIRDS, signal_at(kill, signal.SIGKILL), seen=f"until-{kill}")
            assert result.returncode == -signal.SIGKILL, result.stderr
        result = start(cut, THIRDS, seen="until-end")
        assert result.returncode == 0, result.stderr
        assert_same_end(only_run(cut / "runs"), only_run(whole / "runs"))
        for seen in cut.glob("until-*"):
            own = steps(seen)
            own.pop(max(own))  # where it was killed
            assert own == {step: expected[step] for step in own}

    check()


def test_a_validation_missed_by_a_kill_is_made_up(start: Start, whole: Path, tmp_path: Path) -> None:
    """There is a checkpoint of that step already, so training alone would go on without."""
    result = start(tmp_path, THIRDS, "+callbacks.killer={_target_: observers.KillInValidation, step: 6}")
    assert result.returncode == -signal.SIGKILL, result.stderr
    assert start(tmp_path, THIRDS).returncode == 0
    assert_same_end(only_run(tmp_path / "runs"), only_run(whole / "runs"))
    best = [
        sorted(path.name for path in only_run(each / "runs").glob("checkpoints/best-*")) for each in (tmp_path, whole)
    ]
    assert best[0] == best[1]


def test_a_run_resumes_with_another_number_of_processes(start: Start, tmp_path: Path) -> None:
    """Two ranks, then one, then two, then four with two accumulations; stopped between two log lines each time."""
    same = ("model.dropout=0.0", "trainer.log_every_n_steps=5")
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    result = start(whole, *same)
    assert result.returncode == 0, result.stderr

    shapes = {2: 300, 1: 600, 4: 75}
    done = 0
    gone: dict[int, list[int]] = {}
    for processes, stop in ((2, 1), (1, 5), (2, 7), (4, None)):
        shape = (f"trainer.devices={processes}", f"optimization.max_tokens_per_device={shapes[processes]}")
        disturbers = () if stop is None else (signal_at(stop, signal.SIGTERM),)
        result = start(cut, *same, *shape, *disturbers, seen=f"until-{stop}")
        record = read_record(only_run(cut / "runs") / "run.json")
        expected = (0, Status.finished) if stop is None else (1, Status.interrupted)
        assert (result.returncode, record.status) == expected, result.stderr
        own = steps(cut / f"until-{stop}")
        assert list(own) == list(range(done, record.steps)), "each attempt begins where the one before ended"
        assert all(len(batches) == (8 if processes == 4 else processes) for batches in own.values())
        gone |= sentences(own)
        done = record.steps
        assert done % 5 or stop is None

    assert gone == sentences(steps(whole / "seen"))
    own_lines, lines = timeless_metrics(only_run(cut / "runs")), timeless_metrics(only_run(whole / "runs"))
    assert [line["step"] for line in own_lines] == [line["step"] for line in lines]
    for own_line, line in zip(own_lines, lines, strict=True):
        assert own_line == pytest.approx(line, rel=1e-4)
