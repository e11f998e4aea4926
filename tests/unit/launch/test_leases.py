"""No device is leased twice, however many jobs contend, and devices that are free again are leased again."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiayn.errors import UserError
from aiayn.launch.shares import Lease, Share, leased, try_lease

GPUS = ("0", "1", "GPU-2a4b", "MIG-GPU-7/1/0")


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


share_strategy = st.builds(
    Share,
    kind=st.just("GPU"),
    choices=st.permutations(GPUS).map(tuple),
    count=st.integers(1, len(GPUS)),
    sharers=st.integers(1, 3),
)


@given(st.lists(st.tuples(share_strategy, st.booleans()), max_size=20))
def test_a_device_has_one_job_or_several_that_share_it(jobs: list[tuple[Share, bool]]) -> None:
    at_work: list[tuple[Share, Lease, ExitStack]] = []
    try:
        for share, ends_before in jobs:
            if ends_before and at_work:
                at_work.pop(0)[2].close()
            held = ExitStack()
            lease = try_lease(share, held)
            if lease is None:
                held.close()
                for_free = [name for name in GPUS if not any(name in other.names for _, other, _ in at_work)]
                assert len(for_free) < share.count, "enough were free"
                continue
            at_work.append((share, lease, held))
            assert len(set(lease.names)) == share.count
            for name in GPUS:
                users = [other.sharers for other, lease, _ in at_work if name in lease.names]
                assert len(users) <= max(users, default=0)
                assert users in ([], [1]) or 1 not in users
    finally:
        for _, _, held in at_work:
            held.close()


CONTENDER = """
import json, random, sys, time
from aiayn.launch import shares
from aiayn.launch.shares import Share, leased
shares.POLL_SECONDS = 0.01
for _ in range(8):
    with leased(Share("GPU", ("0", "1", "2"), random.randint(1, 2))) as lease:
        began = time.monotonic()
        time.sleep(0.01)
        print(json.dumps([lease.names, began, time.monotonic()]), flush=True)
"""


def contend(folder: Path, script: str = CONTENDER) -> "subprocess.Popen[str]":
    environment = {**os.environ, "TMPDIR": str(folder)}
    return subprocess.Popen([sys.executable, "-c", script], env=environment, stdout=subprocess.PIPE, text=True)


def test_contending_processes_never_have_the_same_device(tmp_path: Path) -> None:
    processes = [contend(tmp_path) for _ in range(6)]
    lines = [line for process in processes for line in process.communicate(timeout=120)[0].splitlines()]
    assert [process.returncode for process in processes] == [0] * 6
    assert len(lines) == 6 * 8
    for (names, began, ended), (others, other_began, other_ended) in combinations(map(json.loads, lines), 2):
        if set(names) & set(others):
            assert ended <= other_began or other_ended <= began


HOLDER = """
import subprocess, sys
from aiayn.launch.shares import Share, leased
with leased(Share("GPU", ("0",), 1)) as lease:
    worker = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], pass_fds=lease.descriptors)
    print(worker.pid, flush=True)
    worker.wait()
"""


@pytest.fixture
def worker(tmp_path: Path) -> Iterator[tuple["subprocess.Popen[str]", int]]:
    """A process that has leased the only device, and the id of the worker that it has handed the lease to."""
    holder = contend(tmp_path, HOLDER)
    assert holder.stdout is not None
    process = int(holder.stdout.readline())
    yield holder, process
    holder.kill()
    holder.communicate()


def test_a_lease_lives_as_long_as_its_workers(worker: tuple["subprocess.Popen[str]", int]) -> None:
    holder, process = worker
    share = Share("GPU", ("0",), 1)
    with ExitStack() as held:
        assert try_lease(share, held) is None
        holder.kill()
        holder.wait()
        assert try_lease(share, held) is None, "its worker still runs"
        os.kill(process, signal.SIGKILL)
        end = time.monotonic() + 10
        while (lease := try_lease(share, held)) is None:
            assert time.monotonic() < end
            time.sleep(0.01)
        assert lease.names == ("0",)


@pytest.mark.parametrize("kind", ["readable", "file", "link"])
def test_a_folder_that_others_may_write_to_is_refused(kind: str, tmp_path: Path) -> None:
    folder = tmp_path / f"aiayn-leases-{os.getuid()}"
    if kind == "readable":
        folder.mkdir()
        folder.chmod(0o777)
    elif kind == "file":
        folder.write_text("")
    else:
        (tmp_path / "elsewhere").mkdir(mode=0o700)
        folder.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UserError, match=r"not yours alone: remove it"), leased(Share("core", ("0",), 1)):
        pass
