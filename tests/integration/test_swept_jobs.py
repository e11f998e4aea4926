"""A sweep survives being killed, and may be started by several people at once."""

import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from commands import AIAYN, SECONDS, Train, until
from run_files import losses

from aiayn.runs.directory import RunDirectory
from aiayn.runs.record import Status, read_record

pytestmark = pytest.mark.long

Sweep = subprocess.Popen[str]
Start = Callable[..., Sweep]

SEEDS = ("sweeps=seeds", "seed=1,2,3")


@pytest.fixture
def start(tmp_path: Path, tiny: tuple[str, ...]) -> Iterator[Start]:
    """Start a sweep and do not wait for it; whatever is left of it ends with the test."""
    started: list[Sweep] = []

    def start(*words: str) -> Sweep:
        sweep = subprocess.Popen(
            [*AIAYN, "train", *tiny, "logger=none", *words],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(sweep)
        return sweep

    yield start
    for sweep in started:
        sweep.kill()
        sweep.communicate()


def descendants(process: int) -> list[int]:
    """The fork server among them, and the worker that it has forked."""
    children = [int(child) for child in Path(f"/proc/{process}/task/{process}/children").read_text().split()]
    return [*children, *(each for child in children for each in descendants(child))]


def run_of(folder: Path, *, seed: int) -> RunDirectory | None:
    return next((RunDirectory(path.parent) for path in folder.glob(f"*/*/demo-seed{seed}-*/run.json")), None)


def test_a_killed_sweep_goes_on_where_it_was(start: Start, tmp_path: Path) -> None:
    longer = ("optimization.max_steps=40", "optimization.checkpoint_interval=10", "optimization.validation_interval=20")
    runs = tmp_path / "runs"
    killed = start(*SEEDS, *longer)
    until(lambda: (second := run_of(runs, seed=2)) is not None and 10 in second.steps())
    for process in (killed.pid, *descendants(killed.pid)):
        os.kill(process, signal.SIGKILL)
    killed.communicate(timeout=SECONDS)
    first, second = run_of(runs, seed=1), run_of(runs, seed=2)
    assert first is not None
    assert second is not None
    assert read_record(first.record).status is Status.finished
    assert read_record(second.record).status is Status.running, "nobody could write its end"
    assert run_of(runs, seed=3) is None
    before = (first.record.read_bytes(), first.record.stat().st_mtime_ns)

    again = start(*SEEDS, *longer)
    out, err = again.communicate(timeout=SECONDS)
    assert again.returncode == 0, err
    assert out.endswith("\n3 finished\n")
    assert (first.record.read_bytes(), first.record.stat().st_mtime_ns) == before, "shown, not done again"
    third = run_of(runs, seed=3)
    assert third is not None
    assert read_record(third.record).status is Status.finished
    alone = start("seed=2", *longer, "paths.runs=undisturbed")  # with as many threads: sums depend on their number
    _, err = alone.communicate(timeout=SECONDS)
    assert alone.returncode == 0, err
    undisturbed = run_of(tmp_path / "undisturbed", seed=2)
    assert undisturbed is not None
    assert losses(second.path) == losses(undisturbed.path)
    assert read_record(second.record).scores["dev"].ppl == read_record(undisturbed.record).scores["dev"].ppl


def test_two_who_start_the_same_sweep_share_the_work(start: Start, tmp_path: Path) -> None:
    both = [start(*SEEDS) for _ in range(2)]
    said = [sweep.communicate(timeout=SECONDS) for sweep in both]
    for sweep, (out, err) in zip(both, said, strict=True):
        assert sweep.returncode == 0, err
        assert "Traceback" not in err
        assert out.endswith("\n3 finished\n")
    scored = "".join(err for _, err in said).count("dev: BLEU")
    assert scored == 3, "each job was done once"
    for seed in (1, 2, 3):
        run = run_of(tmp_path / "runs", seed=seed)
        assert run is not None
        assert list(losses(run.path)) == list(range(1, 13))


def test_a_job_that_somebody_else_holds_is_waited_for_and_taken_up(start: Start, train: Train, tmp_path: Path) -> None:
    one_step = ("optimization.max_steps=1", "optimization.warmup_steps=1")
    assert train(*one_step) == 0
    run = run_of(tmp_path / "runs", seed=1)
    assert run is not None
    with run.locked():
        stopped, patient = start("-m", *one_step), start("sweeps=seeds", "seed=1", "force=true", *one_step)
        for sweep in (stopped, patient):
            assert sweep.stderr is not None
            waiting = next(line for line in sweep.stderr if line.startswith("waiting for"))
            assert f"{run.path} (process {os.getpid()} on " in waiting
        stopped.send_signal(signal.SIGINT)
        _, err = stopped.communicate(timeout=SECONDS)
        assert (stopped.returncode, err) == (1, "aiayn: interrupted\n")
        before = run.record.read_bytes()
    out, err = patient.communicate(timeout=SECONDS)
    assert patient.returncode == 0, err
    assert out.endswith("\n1 finished\n")
    assert run.record.read_bytes() == before, "what was waited for is not done again, even under force"
