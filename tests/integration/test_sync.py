"""`aiayn sync` with W&B's real client and a recording server: all data is sent exactly once, or reported."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from pathlib import Path

import pytest
import wandb
from processes import signal_at
from wandb_server import KEY, RecordingServer, SentRun

from aiayn.commands.front_end import main
from aiayn.runs.directory import RunDirectory
from aiayn.runs.record import read_record
from aiayn.tracking.wandb_attempts import wandb_attempts

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("logged_out")]

Train = Callable[..., int]
Find = Callable[[], Path]

HASTE = ("retries=1", "timeout=5")


@pytest.fixture
def log_in(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    def call() -> None:
        monkeypatch.setenv("WANDB_API_KEY", KEY)
        wandb.teardown()  # the client reads its environment once

    return call


def steps(run: SentRun) -> list[int]:
    return [row["trainer/global_step"] for row in run.history if "train/loss" in row]


def test_the_attempts_of_a_run_become_one_run_and_are_sent_once(
    train: Train, only_run: Find, server: RecordingServer, log_in: Callable[[], None], capfd: pytest.CaptureFixture[str]
) -> None:
    assert train(signal_at(4), tracker="wandb") == 1
    assert train(tracker="wandb") == 0
    capfd.readouterr()

    assert main(["sync", *HASTE]) == 2
    (line,) = capfd.readouterr().err.splitlines()
    assert "wandb login" in line
    assert not server.requests

    log_in()
    with RunDirectory(only_run()).locked():
        assert main(["sync", *HASTE]) == 0
    (line,) = capfd.readouterr().out.splitlines()
    assert line.startswith(f"{only_run().relative_to(Path.cwd())}: skipped, process {os.getpid()} on ")
    assert not server.requests

    assert main(["sync", *HASTE]) == 0
    run_id, run = server.only_run()
    assert run_id == read_record(only_run() / "run.json").run_id
    assert steps(run) == list(range(1, 13))
    assert run.exit_codes == [1, 0]
    assert run.described("program") == "aiayn"
    assert any(" INFO:aiayn:dev: " in line for line in run.console)
    (line,) = capfd.readouterr().out.splitlines()
    assert "2 attempts sent" in line
    assert line.endswith(f"/aiayn/runs/{run_id}")

    count = len(server.requests)
    assert main(["sync", f"run={only_run()}"]) == 0
    assert "nothing to send" in capfd.readouterr().out
    assert len(server.requests) == count


def test_data_is_kept_while_the_server_fails_and_a_cut_file_is_sent_once(
    train: Train, only_run: Find, server: RecordingServer, log_in: Callable[[], None], capfd: pytest.CaptureFixture[str]
) -> None:
    assert train(tracker="wandb") == 0
    (attempt,) = wandb_attempts(RunDirectory(only_run()))
    whole = attempt.file.read_bytes()
    attempt.file.write_bytes(whole[: len(whole) * 2 // 3])
    log_in()
    for failing in ("RunResumeStatus", "file_stream"):
        server.fails_from, server.refusal = failing, None
        capfd.readouterr()
        assert main(["sync", *HASTE]) == 1
        (line,) = capfd.readouterr().err.splitlines()
        assert "nothing is lost" in line
        assert server.url.removeprefix("http://") in line
        assert not attempt.is_sent, failing
    server.fails_from = server.refusal = None
    assert main(["sync", *HASTE]) == 0
    _, run = server.only_run()
    assert steps(run)
    assert steps(run) == list(range(1, len(steps(run)) + 1))
    assert run.exit_codes == [1]
    assert attempt.is_sent


def test_data_that_an_online_run_could_not_send_is_sent_later(
    train: Train, only_run: Find, server: RecordingServer, log_in: Callable[[], None], capfd: pytest.CaptureFixture[str]
) -> None:
    log_in()
    assert train("seed=1", tracker="wandb") == 0
    assert main(["sync", *HASTE]) == 0
    assert "nothing to send" in capfd.readouterr().out

    server.fails_from, server.failure = (
        "file_stream",
        HTTPStatus.NOT_FOUND,
    )  # permanent; the client tells the run nothing
    assert train("seed=2", tracker="wandb") == 0
    server.fails_from = server.refusal = None
    (lost,) = (run for run in server.runs.values() if not steps(run))  # created on the server, without data
    assert main(["sync", *HASTE]) == 0
    (line,) = capfd.readouterr().out.splitlines()[-1:]
    assert "seed2" in line
    assert steps(lost) == list(range(1, 13))


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_an_interrupted_sync_leaves_no_process_and_no_mark(
    train: Train, only_run: Find, log_in: Callable[[], None]
) -> None:
    assert train("optimization.max_steps=1", tracker="wandb") == 0
    log_in()
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.settimeout(120)
        address = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with (
            subprocess.Popen(
                [sys.executable, "-m", "aiayn", "sync"],
                env=os.environ | {"WANDB_BASE_URL": address},
                stderr=subprocess.PIPE,
                text=True,
            ) as sync,
            silent.accept()[0],
        ):
            assert len(processes_of(address)) == 3, "aiayn sync, wandb sync and its service"
            sync.send_signal(signal.SIGTERM)
            _, error = sync.communicate(timeout=60)
    assert (sync.returncode, error) == (1, "aiayn: interrupted\n")
    end = time.monotonic() + 20
    while (left := processes_of(address)) and time.monotonic() < end:
        time.sleep(0.05)
    assert not left
    directory = RunDirectory(only_run())
    assert directory.is_free
    assert not [attempt for attempt in wandb_attempts(directory) if attempt.is_sent]


def processes_of(address: str) -> list[str]:
    """The processes with an address in their environment."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended, or is not ours
            if address.encode() in (folder / "environ").read_bytes():
                found.append(folder.name)
    return found
