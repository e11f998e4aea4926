"""Preparation by processes that run at the same time, are killed, or cannot write."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from aiayn.data.corpora.corpus import SPLITS
from aiayn.data.preparation.shards import SHARD, first_missing

PROGRAM = """
import os, resource, sys, time
from multiprocessing import active_children
from pathlib import Path
from aiayn.data.preparation.filters import Filters
from aiayn.data.preparation.prepared import PreparationSettings, prepare
from aiayn.data.preparation.shards import SHARD
from aiayn.errors import RunFailedError, UserError

cache, log, pairs, processes, action = sys.argv[1:]

class Numbers:
    task, source_language, target_language, identity, origin = "translation", "en", "de", "0123", {}
    def rows(self, split, *, start=0):
        return ((str(number % 44_444),) * 2 for number in range(start, int(pairs) if split == "train" else 5))
    def size(self, split):
        return None

def progress(stage, done, total):
    with open(log, "a") as file:
        file.write(" ".join([stage, str(done), *(str(child.pid) for child in active_children())]) + "\\n")
    if action == f"stop at {stage}":
        time.sleep(300)  # to be killed
    if action == "kill a worker" and (stage, done) == ("train", SHARD):  # once: the others end with the first
        os.kill(active_children()[0].pid, 9)

if __name__ == "__main__":
    if action == "full disk":
        resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, 30_000))
    if action == "no permission" and os.getuid() == 0:
        os.setuid(65_534)  # the superuser may do everything
    settings = PreparationSettings(300, 20, filters=Filters(duplicates=True))
    try:
        data = prepare(
            Numbers(), settings=settings, cache=Path(cache), processes=int(processes), progress=progress
        )
    except (UserError, RunFailedError) as error:
        sys.exit(str(error))
    print(data.fingerprint, len(data.split("train")))
"""


def start(cache: Path, log: Path, *, action: str = "", pairs: int = 5_000, processes: int = 1) -> subprocess.Popen[str]:
    program = log.with_name("program.py")
    if not program.exists():  # another process may be reading it
        program.write_text(PROGRAM)
    command = [sys.executable, str(program), str(cache), str(log), str(pairs), str(processes), action]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def started(cache: Path, log: Path, stage: str, **options: int) -> subprocess.Popen[str]:
    """Start a preparation that stops at a stage, and wait until it is there."""
    process = start(cache, log, action=f"stop at {stage}", **options)
    while process.poll() is None and not numbers_of(stage, log):
        time.sleep(0.01)
    return process


def kill(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert process.returncode == -signal.SIGKILL


def numbers_of(stage: str, log: Path) -> list[list[int]]:
    """Pairs done and processes at each report of a stage."""
    lines = log.read_text().splitlines() if log.exists() else []
    return [[int(word) for word in line.split()[1:]] for line in lines if line.startswith(f"{stage} ")]


def all_but_locks(parent: Path) -> list[Path]:
    return [path for path in parent.iterdir() if path.suffix != ".lock"]


def is_running(pid: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False


def test_concurrent_processes_prepare_once(tmp_path: Path) -> None:
    processes = [start(tmp_path / "cache", tmp_path / "log") for _ in range(4)]
    outputs = [process.communicate(timeout=60) for process in processes]
    assert [process.returncode for process in processes] == [0] * 4, outputs
    assert len({printed for printed, _ in outputs}) == 1
    stages = (tmp_path / "log").read_text().splitlines()
    assert len(stages) == len(set(stages)), "nothing was done twice"
    assert {stage.split()[0] for stage in stages} == {"tokenizer", *SPLITS}
    assert len(all_but_locks(tmp_path / "cache" / "prepared")) == 1


@pytest.mark.parametrize("stage", ["tokenizer", "train", "test"])
def test_a_killed_preparation_leaves_nothing_behind(tmp_path: Path, stage: str) -> None:
    cache, log = tmp_path / "cache", tmp_path / "log"
    process = started(cache, log, stage)
    waiting = start(cache, tmp_path / "other log")
    kill(process)
    output, error = waiting.communicate(timeout=60)
    assert waiting.returncode == 0, error
    [folder], [_] = (all_but_locks(cache / kind) for kind in ("prepared", "tokenizers"))
    assert output.split()[0] in (folder / "manifest.json").read_text()


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes as Linux has them")
@pytest.mark.parametrize(("killed", "resumed"), [(1, 2), (2, 1)])
def test_a_killed_preparation_resumes_with_the_same_bytes(tmp_path: Path, killed: int, resumed: int) -> None:
    cache, pairs = tmp_path / "cache", 5 * SHARD + 1
    first, second = tmp_path / "first", tmp_path / "second"
    kill(started(cache, first, "train", pairs=pairs, processes=killed))
    children = {pid for _, *pids in numbers_of("train", first) for pid in pids}
    assert len(children) == (killed if killed > 1 else 0)
    deadline = time.monotonic() + 30
    while any(map(is_running, children)) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not any(map(is_running, children)), "they end with the one that started them"
    [shards] = (cache / "prepared").glob("*.shards")
    done = first_missing(shards)
    assert done >= SHARD

    output, error = start(cache, second, pairs=pairs, processes=resumed).communicate(timeout=300)
    reports = [number for number, *_ in numbers_of("train", second)]
    assert reports[:1] == [min(done + SHARD, pairs)], error
    assert reports[-1] == pairs
    assert not shards.exists()
    whole, error = start(tmp_path / "other", tmp_path / "third", pairs=pairs).communicate(timeout=300)
    assert whole == output, error
    assert whole.split()[1] == "44444", "duplicates are found across shards"
    assert [path.suffix for path in (cache / "prepared").iterdir() if path.suffix] == [".lock"]


@pytest.mark.parametrize(
    ("action", "reason"), [("full disk", "File too large"), ("no permission", "Permission denied")]
)
def test_a_disk_that_cannot_be_written_is_reported_and_freed(tmp_path: Path, action: str, reason: str) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o500 if action == "no permission" else 0o700)
    _, error = start(closed / "cache", tmp_path / "log", action=action).communicate(timeout=60)
    assert error.startswith(f"paths.cache={closed / 'cache'}: ")
    assert reason in error
    assert error.count("\n") == 1
    assert not list(closed.glob("cache/prepared/*.partial"))


def test_a_killed_encoding_process_is_reported_and_finished_shards_stay(tmp_path: Path) -> None:
    process = start(tmp_path / "cache", tmp_path / "log", action="kill a worker", pairs=9 * SHARD, processes=2)
    _, error = process.communicate(timeout=60)
    assert error.startswith(
        "an encoding process was killed, perhaps because memory ran out; rerun the command to resume"
    )
    assert error.endswith("with fewer launch.preparation_processes\n")
    assert error.count("\n") == 1
    [shards] = (tmp_path / "cache" / "prepared").glob("*.shards")
    assert first_missing(shards) >= SHARD
