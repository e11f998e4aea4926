"""A killed preparation resumes after its finished shards, with the same result."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from aiayn.data.preparation.shards import SHARD, first_missing

PAIRS = 5 * SHARD + 1

PROGRAM = f"""
import sys, time
from pathlib import Path
from multiprocessing import active_children
from aiayn.data.preparation.filters import Filters
from aiayn.data.preparation.prepared import PreparationSettings, prepare

class Numbers:
    task, source_language, target_language, identity, origin = "translation", "en", "de", "0123", {{}}
    def rows(self, split, *, start=0):
        return ((str(number % 44_444),) * 2 for number in range(start, {PAIRS} if split == "train" else 5))
    def size(self, split):
        return None

def progress(stage, pairs, total):
    with open(sys.argv[2], "a") as log:
        log.write(" ".join([stage, str(pairs), *(str(child.pid) for child in active_children())]) + "\\n")
    if stage == sys.argv[4]:
        time.sleep(300)  # to be killed

if __name__ == "__main__":
    limits = PreparationSettings(300, 20, filters=Filters(duplicates=True))
    data = prepare(
        Numbers(), settings=limits, cache=Path(sys.argv[1]), processes=int(sys.argv[3]), progress=progress
    )
    print(data.fingerprint, data.manifest["splits"]["train"]["pairs"])
"""


def start(folder: Path, cache: str, log: str, processes: int, *, stop: str = "") -> subprocess.Popen[str]:
    program = folder / "program.py"
    program.write_text(PROGRAM)
    command = [sys.executable, str(program), str(folder / cache), str(folder / log), str(processes), stop]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def train_lines(log: Path) -> list[list[int]]:
    lines = log.read_text().splitlines() if log.exists() else []
    return [[int(word) for word in line.split()[1:]] for line in lines if line.startswith("train ")]


def is_running(pid: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes as Linux has them")
@pytest.mark.parametrize(("killed", "resumed"), [(1, 2), (2, 1)])
def test_a_killed_preparation_resumes_with_the_same_bytes(tmp_path: Path, killed: int, resumed: int) -> None:
    process = start(tmp_path, "cache", "first", killed, stop="train")
    while process.poll() is None and not train_lines(tmp_path / "first"):
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    children = {pid for _, *pids in train_lines(tmp_path / "first") for pid in pids}
    assert len(children) == (killed if killed > 1 else 0)
    deadline = time.monotonic() + 30
    while any(map(is_running, children)) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not any(map(is_running, children)), "they end with the one that started them"
    [shards] = (tmp_path / "cache" / "prepared").glob("*.shards")
    done = first_missing(shards)
    assert done >= SHARD

    output, error = start(tmp_path, "cache", "second", resumed).communicate(timeout=300)
    reports = [pairs for pairs, *_ in train_lines(tmp_path / "second")]
    assert reports[:1] == [min(done + SHARD, PAIRS)], error
    assert reports[-1] == PAIRS
    assert not shards.exists()
    whole, error = start(tmp_path, "other", "third", 1).communicate(timeout=300)
    assert whole == output, error
    assert whole.split()[1] == "44444", "duplicates are found across shards"
    assert [path.suffix for path in (tmp_path / "cache" / "prepared").iterdir() if path.suffix] == [".lock"]
