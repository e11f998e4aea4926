"""A forked worker behaves like a fresh one when it is waited for, signalled, listed or locked against."""

import fcntl
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from aiayn.launch import fork_server, forked_workers
from aiayn.launch.forked_workers import ForkedWorker, Started, end_fork_server, start_worker
from aiayn.system import machine

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="forked nowhere else")
Start = Callable[..., Started]

SITE_CUSTOMIZE = """
import os, pathlib
class Mark:
    def __del__(self, folder=pathlib.Path(__file__).parent, process=os.getpid):
        (folder / str(process())).touch()
mark = Mark()
"""
"""Each process of Python writes a file, named by its number, when its interpreter is torn down."""


@pytest.fixture(scope="module")
def torn_down(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of these files."""
    folder = tmp_path_factory.mktemp("torn_down")
    (folder / "sitecustomize.py").write_text(SITE_CUSTOMIZE)
    return folder


@pytest.fixture(scope="module")
def environment(torn_down: Path) -> Iterator[dict[str, str]]:
    """One for all workers, which then share a fork server: it takes seconds to start."""
    yield {**os.environ, "OMP_NUM_THREADS": "1", "PYTEST_CURRENT_TEST": "", "PYTHONPATH": str(torn_down)}
    end_fork_server()


@pytest.fixture
def start(environment: dict[str, str], tmp_path: Path) -> Iterator[Start]:
    """Start a worker on a missing run: it ends with exit code 2 and writes its failure to the run's folder."""
    started: list[Started] = []

    def start(name: str = "none", *, is_forked: bool = True, descriptors: tuple[int, ...] = ()) -> Started:
        (tmp_path / name).mkdir(exist_ok=True)
        words = [str(tmp_path / name), "aiayn train"]
        started.append(start_worker(words, environment=environment, descriptors=descriptors, is_forked=is_forked))
        return started[-1]

    yield start
    for each in started:
        if machine.is_alive(each.pid):  # stopped, where a test failed
            os.kill(each.pid, signal.SIGKILL)
        each.wait()


def parent(process: int) -> int:
    return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])


@linux_only
@pytest.mark.slow
def test_forked_workers_share_only_a_fork_server(start: Start, tmp_path: Path) -> None:
    lock = os.open(tmp_path / "lock", os.O_RDWR | os.O_CREAT)
    fcntl.flock(lock, fcntl.LOCK_EX)
    words = [b""]
    while words == [b""]:
        first = start("first", descriptors=(lock,))
        with suppress(OSError):  # it may end before this process sees its title
            title = b""
            while not title:  # the moment in which the fork writes it
                title = Path(f"/proc/{first.pid}/cmdline").read_bytes().rstrip(b"\0")
            os.kill(first.pid, signal.SIGSTOP)
            words = title.split(b"\0")
    os.close(lock)
    assert words == [
        sys.executable.encode(),
        b"-m",
        forked_workers.WORKER.encode(),
        str(tmp_path / "first").encode(),
        b"aiayn train",
    ]
    assert os.getsid(first.pid) == first.pid
    assert parent(parent(first.pid)) == os.getpid()
    with pytest.raises(subprocess.TimeoutExpired):
        first.wait(timeout=0.01)
    with (tmp_path / "lock").open() as another:
        with pytest.raises(BlockingIOError):
            fcntl.flock(another, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.killpg(first.pid, signal.SIGKILL)
        assert first.wait() == first.wait() == -signal.SIGKILL
        fcntl.flock(another, fcntl.LOCK_EX | fcntl.LOCK_NB)  # the fork server does not hold it
    second = start("second")
    assert (second.pid == first.pid, second.wait()) == (False, 2)
    (told,) = (tmp_path / "second" / ".failures").iterdir()
    assert "no such file" in json.loads(told.read_text())["message"]


def holds(process: int, pipe: Path) -> bool:
    for descriptor in Path(f"/proc/{process}/fd").iterdir():
        with suppress(FileNotFoundError):  # closed since
            if descriptor.readlink() == pipe:
                return True
    return False


@pytest.mark.long
@linux_only
def test_a_forked_worker_ends_without_a_teardown(start: Start, torn_down: Path) -> None:
    """It would take 0.3 s, and Triton's extension would print 29 lines about what is not freed."""
    ended = {is_forked: start(is_forked=is_forked) for is_forked in (True, False)}
    assert [worker.wait() for worker in ended.values()] == [2, 2]
    assert not (torn_down / str(ended[True].pid)).exists()
    assert (torn_down / str(ended[False].pid)).exists(), "a fresh process is torn down, which shows that the mark works"


@pytest.mark.long
@linux_only
def test_workers_start_anew_after_the_fork_server_was_killed(start: Start) -> None:
    first = start()
    assert isinstance(first, ForkedWorker)
    told = Path(f"/proc/self/fd/{first.results.fileno()}").readlink()
    # It sends its id a moment before it closes the pipe; stopped in between it would never close it.
    while holds(first.pid, told):
        time.sleep(0.001)
    os.kill(first.pid, signal.SIGSTOP)
    os.kill(parent(first.pid), signal.SIGKILL)
    assert first.wait() == -signal.SIGKILL, "its exit code is unknown"
    os.kill(first.pid, signal.SIGKILL)
    second = start()
    assert isinstance(second, subprocess.Popen)
    assert second.wait() == 2
    end_fork_server()  # the next test gets another


@pytest.mark.long
@linux_only
def test_a_fork_server_ends_with_its_starter() -> None:
    code = """
import os
from pathlib import Path
from aiayn.launch.forked_workers import ForkServer
server = ForkServer(dict(os.environ))
print(Path(f"/proc/self/task/{os.getpid()}/children").read_text(), flush=True)
os._exit(1)
"""
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False).stdout
    end = time.monotonic() + 60
    while machine.is_alive(int(said)):
        assert time.monotonic() < end
        time.sleep(0.1)


@linux_only
def test_a_process_with_threads_or_devices_cannot_fork(tmp_path: Path) -> None:
    assert fork_server.can_fork() == (threading.active_count() == 1)
    done = threading.Event()
    other = threading.Thread(target=done.wait)
    other.start()
    assert not fork_server.can_fork()
    done.set()
    other.join()
    with (tmp_path / "nvidiactl").open("w"):
        assert not fork_server.can_fork()


@pytest.mark.long
@linux_only
def test_the_libraries_of_a_fork_server_start_no_thread_and_omit_optional_ones() -> None:
    code = f"""
import json, os, sys
from importlib import import_module
for library in {fork_server.LIBRARIES!r}: import_module(library)
print(json.dumps([len(os.listdir("/proc/self/task")), sorted(name for name in sys.modules if "." not in name)]))
"""
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    result = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    threads, modules = json.loads(result.stdout)
    assert threads == 1
    assert {"torch", "pytorch_lightning"} < set(modules)
    # Lightning brings matplotlib where it is installed.
    assert not {"wandb", "datasets", "pyarrow", "pandas", "optuna"} & set(modules)


@linux_only
@pytest.mark.parametrize("words", [("short",), ("a b", "c" * 10_000), ("",), ("ü", "\udcff")])
def test_a_title_is_cut_to_the_length_of_the_command_line(words: tuple[str, ...]) -> None:
    code = f"""
from pathlib import Path
from aiayn.launch.fork_server import set_title
import os
before = dict(os.environ)
set_title({words!r})
assert dict(os.environ) == before
import sys
sys.stdout.buffer.write(Path("/proc/self/cmdline").read_bytes())
"""
    room = [sys.executable, "-c", code, " " * 100]
    shown = subprocess.run(room, capture_output=True, check=True).stdout.rstrip(b"\0")
    wanted = b"\0".join(word.encode(errors="surrogateescape") for word in words)
    assert wanted.startswith(shown)
    assert len(shown) == min(len(wanted.rstrip(b"\0")), sum(len(word.encode()) + 1 for word in room) - 1)
