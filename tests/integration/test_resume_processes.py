"""Runs of real processes: killed outright wherever, or taken up by another number of ranks."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from itertools import chain
from pathlib import Path

import pytest
from comparison import assert_same_end, measured
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st

from aiayn.runs.record import Status, read_record

pytestmark = pytest.mark.long

Start = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def start(tmp_path: Path, shared_cache: Path, tiny: tuple[str, ...]) -> Start:
    """Train as a user would: `seen` is where the ranks write what they see, `disturbed` a micro-batch and a signal."""
    path = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "AIAYN_CACHE": str(shared_cache), "OMP_NUM_THREADS": "1", "PYTHONPATH": path}

    def start(*words: str, seen: str, disturbed: tuple[int, int] | None = None) -> subprocess.CompletedProcess[str]:
        observers = [f"+callbacks.recorder={{_target_: observers.RankRecorder, folder: {tmp_path / seen}}}"]
        if disturbed is not None:
            batch, number = disturbed
            observers.append(
                f"+callbacks.disturber={{_target_: observers.SignalAt, batch: {batch}, number: {int(number)}}}"
            )
        return subprocess.run(
            [sys.executable, "-m", "aiayn", "train", *tiny, "logger=none", *words, *observers],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    return start


def only_run(runs: Path) -> Path:
    (record,) = runs.glob("*/*/*/run.json")
    return record.parent


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


def test_killed_at_any_micro_batch_it_goes_on_exactly(start: Start, tmp_path: Path) -> None:
    """SIGKILL leaves no time for anything; three micro-batches make a step, so most kills come in mid-accumulation."""
    same = ("optimization.max_tokens_per_device=200",)
    result = start(*same, "paths.runs=whole", seen="whole.seen")
    assert result.returncode == 0, result.stderr
    whole, batches = only_run(tmp_path / "whole"), steps(tmp_path / "whole.seen")

    @settings(max_examples=1, deadline=None, phases=[Phase.explicit, Phase.generate])
    @example([13, 26])  # in the middle of the fifth step, and of the ninth
    @given(st.lists(st.integers(1, 35), min_size=1, max_size=2, unique=True).map(sorted))
    def check(kills: list[int]) -> None:
        shutil.rmtree(tmp_path / "cut", ignore_errors=True)
        for number, kill in enumerate(kills):
            result = start(*same, "paths.runs=cut", seen=f"{number}.seen", disturbed=(kill, signal.SIGKILL))
            assert result.returncode == -signal.SIGKILL, result.stderr
        result = start(*same, "paths.runs=cut", seen="last.seen")
        assert result.returncode == 0, result.stderr
        assert_same_end(only_run(tmp_path / "cut"), whole)
        for seen in (tmp_path / "last.seen", *(tmp_path / f"{number}.seen" for number in range(len(kills)))):
            own = steps(seen)
            first, last = min(own), max(own)
            assert {step: own[step] for step in range(first, last)} == {
                step: batches[step] for step in range(first, last)
            }
            shutil.rmtree(seen)

    check()


def test_another_number_of_processes_takes_a_run_up(start: Start, tmp_path: Path) -> None:
    """Two ranks, then one, then two, then four with two accumulations; stopped between two log lines each time."""
    same = ("model.dropout=0.0", "trainer.log_every_n_steps=5")
    result = start(*same, "paths.runs=whole", seen="whole.seen")
    assert result.returncode == 0, result.stderr

    shapes = {2: 300, 1: 600, 4: 75}
    done = 0
    gone: dict[int, list[int]] = {}
    for processes, stop in ((2, 1), (1, 5), (2, 7), (4, None)):
        seen = f"{stop}.seen"
        shape = (f"trainer.devices={processes}", f"optimization.max_tokens_per_device={shapes[processes]}")
        disturbed = None if stop is None else (stop, signal.SIGTERM)
        result = start(*same, "paths.runs=cut", *shape, seen=seen, disturbed=disturbed)
        record = read_record(only_run(tmp_path / "cut") / "run.json")
        expected = (0, Status.finished) if stop is None else (1, Status.interrupted)
        assert (result.returncode, record.status) == expected, result.stderr
        own = steps(tmp_path / seen)
        assert list(own) == list(range(done, record.steps)), "each go begins where the one before ended"
        assert all(len(batches) == (8 if processes == 4 else processes) for batches in own.values())
        gone |= sentences(own)
        done = record.steps
        assert done % 5 or stop is None

    assert gone == sentences(steps(tmp_path / "whole.seen"))
    own_lines, lines = measured(only_run(tmp_path / "cut")), measured(only_run(tmp_path / "whole"))
    assert [line["step"] for line in own_lines] == [line["step"] for line in lines]
    for own_line, line in zip(own_lines, lines, strict=True):
        assert own_line == pytest.approx(line, rel=1e-4)
