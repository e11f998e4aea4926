"""Training from scripts and notebooks: processes of its own, interrupts, several devices."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from commands import SECONDS, until
from groups import ENDLESS, REAPED_SECONDS
from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import KernelManager, start_new_kernel
from run_files import only_run

from aiayn.runs.directory import RunDirectory
from aiayn.runs.record import Status, read_record
from aiayn.system import machine

pytestmark = pytest.mark.long

TWO = ("trainer=cpu", "trainer.devices=2")


def train_call(tiny: tuple[str, ...], *words: str) -> str:
    """A line of Python, without a guard of `__main__`."""
    return f"run = aiayn.train({[*tiny, 'logger=none', *words]!r})"


def processes_of(run: Path) -> list[int]:
    """The processes of a run's workers."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes()
        except OSError:
            continue
        if str(run).encode() in words and machine.is_alive(int(folder.name)):
            found.append(int(folder.name))
    return found


def has_trained(folder: Path) -> bool:
    """Whether a run has logged a few steps."""
    return any(len(path.read_text().splitlines()) > 3 for path in folder.glob("runs/*/*/*/metrics.jsonl"))


def latest_step(run: Path) -> int:
    """The last step logged."""
    return max((step for step, _ in RunDirectory(run).metric_rows()), default=0)


def assert_stopped(run: Path) -> None:
    """No process of a run is left, and its last step can be resumed from."""
    until(lambda: not processes_of(run) and RunDirectory(run).is_free, seconds=REAPED_SECONDS)
    record = read_record(run / "run.json")
    assert record.status is Status.interrupted
    assert record.steps in RunDirectory(run).steps()


@pytest.fixture
def script(tmp_path: Path, tiny: tuple[str, ...]) -> Iterator[subprocess.Popen[str]]:
    """A script that trains without end, after its first steps."""
    code = f"import aiayn\n{train_call(tiny, *ENDLESS)}\n"
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True, start_new_session=True) as process:
        try:
            until(lambda: process.poll() is not None or has_trained(tmp_path))
            assert process.poll() is None, process.communicate()
            yield process
        finally:
            process.kill()


def test_a_script_without_a_guard_trains_on_two_devices(tmp_path: Path, tiny: tuple[str, ...]) -> None:
    path = tmp_path / "script.py"
    path.write_text(f"import aiayn\n{train_call(tiny, *TWO)}\nprint(run)\nprint(aiayn.compose().seed)\n")
    command = [sys.executable, str(path)]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert result.returncode == 0, result.stderr
    run = only_run(tmp_path / "runs")
    record = read_record(run / "run.json")
    assert record.status is Status.finished
    assert record.hardware["processes"] == 2
    assert record.command.startswith("aiayn train data.sentences=")
    assert record.config_hash in result.stdout
    assert "step 12/12" in result.stderr


def test_ctrl_c_stops_a_script_and_its_run_which_then_resumes(
    script: subprocess.Popen[str], tmp_path: Path, tiny: tuple[str, ...]
) -> None:
    script.send_signal(signal.SIGINT)
    _, said = script.communicate(timeout=REAPED_SECONDS)
    assert script.returncode == -signal.SIGINT
    assert "KeyboardInterrupt: stopped by Ctrl-C after step " in said
    run = only_run(tmp_path / "runs")
    assert_stopped(run)
    steps = read_record(run / "run.json").steps
    code = f"import aiayn\n{train_call(tiny, *ENDLESS)}\n"
    with subprocess.Popen([sys.executable, "-c", code], cwd=tmp_path, stderr=subprocess.PIPE, text=True) as again:
        until(lambda: again.poll() is not None or read_record(run / "run.json").status is Status.running)
        until(lambda: again.poll() is not None or latest_step(run) > steps)
        again.send_signal(signal.SIGINT)
        again.communicate(timeout=REAPED_SECONDS)
    assert_stopped(run)
    assert read_record(run / "run.json").steps > steps, "it went on from its checkpoint"


def test_a_killed_script_takes_its_run_with_it(script: subprocess.Popen[str], tmp_path: Path) -> None:
    script.kill()
    script.wait()
    assert_stopped(only_run(tmp_path / "runs"))


@pytest.fixture
def kernel(tmp_path: Path) -> Iterator[tuple[KernelManager, BlockingKernelClient]]:
    """A Jupyter kernel in an empty folder."""
    manager, client = start_new_kernel(cwd=str(tmp_path), startup_timeout=SECONDS)
    try:
        yield manager, client
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def test_a_kernel_trains_on_two_devices_is_interrupted_and_goes_on(
    kernel: tuple[KernelManager, BlockingKernelClient], tmp_path: Path, tiny: tuple[str, ...]
) -> None:
    manager, client = kernel
    said: list[str] = []

    def hear(message: dict[str, dict[str, str]]) -> None:
        said.append(message["content"].get("text", ""))

    def execute(code: str) -> dict[str, Any]:
        return dict(client.execute_interactive(code, output_hook=hear, timeout=SECONDS)["content"])

    assert execute("import aiayn")["status"] == "ok"
    endless = client.execute(train_call(tiny, *TWO, *ENDLESS))
    until(lambda: has_trained(tmp_path))
    run = only_run(tmp_path / "runs")
    manager.interrupt_kernel()
    reply = client.get_shell_msg(timeout=SECONDS)
    assert reply["parent_header"]["msg_id"] == endless
    assert reply["content"]["ename"] == "KeyboardInterrupt"
    assert "resume" in reply["content"]["evalue"]
    assert_stopped(run)

    assert execute(train_call(tiny, *TWO))["status"] == "ok", said
    assert any("train: step 12/12" in text for text in said), "progress is shown in the notebook"
    reply = execute(train_call(tiny, "model.hads=3"))
    assert reply["traceback"] == ["UserError: model.hads: no such key; did you mean model.num_heads?"]
