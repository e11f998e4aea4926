"""The runner of the lab, on a study of three tiny runs: their order, time, pause and end, and what is kept."""

import json
import math
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from commands import AIAYN, until
from run_files import runs_below
from tiny import TINY

import lab_kept
from aiayn.errors import UserError
from aiayn.runs.ledger import State
from aiayn.runs.record import read_record
from lab import Runner
from lab_queue import Job, Lab

STUDY = "tiny_study"
ROWS = ["hydra.sweeper.seeds={base: [7, 5], others: [6]}"]
LONG = ("optimization.max_steps=4000", "optimization.validation_interval=4000", "optimization.checkpoint_interval=4000")
"""Of runs that do not end by themselves in a test."""

pytestmark = pytest.mark.long


def lab_in(folder: Path, *words: str) -> Lab:
    """A folder of the lab in which the study is frozen."""
    lab = Lab(folder, AIAYN, folder / "kept", [STUDY])
    lab.clone.mkdir()
    freeze = ["train", "sweeps=own_idea", *TINY, *words, *ROWS, "hydra.sweeper.stage=freeze", f"paths.runs={lab.runs}"]
    subprocess.run([*AIAYN, *freeze], env={**os.environ, "AIAYN_SWEEP": STUDY}, check=True, cwd=lab.clone)
    return lab


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Lab:
    """All three runs, by a runner of two cores; tests only read it."""
    lab = lab_in(tmp_path_factory.mktemp("lab"))
    Runner(lab, cores=2, until=math.inf).work()
    return lab


@pytest.fixture(scope="module")
def long_lab(tmp_path_factory: pytest.TempPathFactory) -> Lab:
    """A study of long runs, none of which has begun; tests copy it."""
    return lab_in(tmp_path_factory.mktemp("long"), *LONG)


@pytest.fixture
def lab(long_lab: Lab, tmp_path: Path) -> Lab:
    shutil.copytree(long_lab.folder, tmp_path, dirs_exist_ok=True)
    return Lab(tmp_path, AIAYN, tmp_path / "kept", [STUDY])


def states(lab: Lab) -> list[State | None]:
    entries = map(lab.entry, lab.jobs())
    return [None if entry is None else entry.state for entry in entries]


def has_trained(lab: Lab, job: Job) -> bool:
    entry = lab.entry(job)
    return entry is not None and entry.step > 0


def test_runs_are_those_of_the_plan_in_its_order_with_one_thread(finished: Lab) -> None:
    jobs = finished.jobs()
    assert [(job.row, job.words[-1]) for job in jobs] == [("base", "seed=5"), ("rotary", "seed=6"), ("base", "seed=7")]
    assert states(finished) == [State.finished] * 3
    assert not finished.open_jobs()
    records = [read_record(finished.runs / job.name / "run.json") for job in jobs]
    assert {record.hardware["threads"] for record in records} == {1}
    *first, last = (str(record.started) for record in records)
    assert max(first) < last


def test_kept_runs_are_plain_small_and_reported_like_the_others(finished: Lab, tmp_path: Path) -> None:
    names = {job.name for job in finished.jobs()}
    assert {str(run.relative_to(finished.kept)) for run in runs_below(finished.kept)} == names
    paths = [path for path in finished.kept.rglob("*") if path.is_file()]
    assert not [path for path in paths if path.suffix not in {".json", ".yaml", ".jsonl", ".xz", ".txt"}]
    assert not list(finished.kept.rglob("checkpoints"))
    assert sum(path.stat().st_size for path in paths) < 300_000
    assert str(finished.folder) not in "".join(path.read_text() for path in paths if path.suffix != ".xz")
    lab_kept.restore(finished.kept, tmp_path / "runs")
    elsewhere = Lab(tmp_path, AIAYN, tmp_path / "kept", [STUDY])
    assert states(elsewhere) == [State.finished] * 3, "nothing is trained again"

    def report(runs: Path) -> str:
        words = ["report", "hypotheses", f"study={STUDY}", f"paths.runs={runs}", "format=json"]
        said = subprocess.run([*AIAYN, *words], check=True, capture_output=True, text=True, cwd=tmp_path)
        return json.dumps(json.loads(said.stdout)["claims"])

    assert report(elsewhere.runs) == report(finished.runs)


def test_no_more_is_kept_than_may_be_committed(finished: Lab, tmp_path: Path) -> None:
    names = [job.name for job in finished.jobs()]
    with pytest.raises(UserError, match="too much"):
        lab_kept.keep(names, finished.runs, tmp_path / "kept", most_bytes=1000)
    assert not runs_below(tmp_path / "kept"), "none of it is there"


def test_no_run_is_started_that_cannot_finish_in_time(finished: Lab, lab: Lab) -> None:
    shutil.copytree(finished.runs / finished.jobs()[0].name, lab.runs / lab.jobs()[0].name)
    (estimate, *_) = lab.estimates(STUDY).values()
    assert estimate > 0
    Runner(lab, cores=1, until=time.time() + estimate / 2).work()
    assert states(lab)[1:] == [None, None]


def test_a_pause_and_the_time_end_runs_which_are_then_resumed(lab: Lab) -> None:
    runner = Runner(lab, cores=1, until=time.time() + 86_400)
    first, *others = lab.jobs()
    seen = []

    def steer() -> None:
        until(lambda: has_trained(lab, first))
        (lab.folder / "pause").touch()
        until(lambda: not runner.running)
        seen.append(states(lab))
        time.sleep(2)
        seen.append(states(lab))
        (lab.folder / "pause").unlink()
        until(lambda: states(lab)[0] is State.running)
        runner.until = time.time()

    thread = threading.Thread(target=steer)
    thread.start()
    runner.work()
    thread.join()
    assert seen == [[State.interrupted, None, None]] * 2
    assert states(lab) == seen[0]
    assert list((lab.runs / first.name / "checkpoints").iterdir())
    assert lab.open_jobs() == [first, *others], "it is resumed first"


SCRIPT = """
import math
import sys
from pathlib import Path
from lab import Runner
from lab_queue import Lab
folder = Path(sys.argv[1])
Runner(Lab(folder, [sys.executable, "-m", "aiayn"], folder / "kept", sys.argv[2:]), cores=1, until=math.inf).work()
"""


def test_runners_share_the_queue_and_a_killed_one_leaves_a_run_to_be_resumed(lab: Lab) -> None:
    def runner() -> "subprocess.Popen[bytes]":
        paths = os.pathsep.join(sys.path)
        return subprocess.Popen(
            [sys.executable, "-c", SCRIPT, lab.folder, STUDY], env={**os.environ, "PYTHONPATH": paths}
        )

    first, second, third = lab.jobs()
    one = runner()
    until(lambda: has_trained(lab, first))
    other = runner()
    until(lambda: has_trained(lab, second))
    one.kill()
    one.wait()
    until(lambda: lab.entry(first).state is State.interrupted)  # type: ignore[union-attr]
    assert lab.entry(third) is None
    other.terminate()
    assert other.wait() != -signal.SIGTERM, "it has waited for its run"
    assert states(lab) == [State.interrupted, State.interrupted, None]


def test_a_run_that_fails_is_listed_and_not_tried_again(lab: Lab, capsys: pytest.CaptureFixture[str]) -> None:
    lab.aiayn = [sys.executable, "-c", "raise SystemExit(2)"]
    Runner(lab, cores=1, until=math.inf).work()
    said = capsys.readouterr().out
    assert [said.count(f"started {job.name}") for job in lab.jobs()] == [1, 1, 1]
    assert "0 of 3 runs have finished" in said
    assert said.count(f"its output is in {lab.log}") == 3
