"""`aiayn sync` with W&B's real client and a recording server: all data is sent exactly once, or reported."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from pathlib import Path

import pytest
import wandb
from commands import AIAYN, CommandLine, Find, Finished, Train, signal_at, until
from run_files import copied_run
from wandb_server import KEY, RecordingServer

from aiayn.commands.front_end import main
from aiayn.runs.directory import RunDirectory
from aiayn.runs.record import read_record
from aiayn.tracking.wandb_attempts import wandb_attempts

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("logged_out")]


HASTE = ("retries=1", "timeout=5")


@pytest.fixture
def log_in(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    def call() -> None:
        monkeypatch.setenv("WANDB_API_KEY", KEY)
        wandb.teardown()  # the client reads its environment once

    return call


@pytest.fixture
def kept(finished: Finished, tmp_path: Path) -> Path:
    """A run whose data are on disk only, below runs/."""
    return copied_run(finished("logger.mode=offline", tracker="wandb"), tmp_path / "runs")


@pytest.mark.long
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
    assert line.startswith(f"{only_run().relative_to(Path.cwd())}: skipped, locked by process {os.getpid()} on ")
    assert not server.requests

    assert main(["sync", *HASTE]) == 0
    run_id, run = server.only_run()
    assert run_id == read_record(only_run() / "run.json").run_id
    assert run.steps() == list(range(1, 13))
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


@pytest.mark.long
def test_data_is_kept_while_the_server_fails_and_a_cut_file_is_sent_once(
    kept: Path, server: RecordingServer, log_in: Callable[[], None], capfd: pytest.CaptureFixture[str]
) -> None:
    (attempt,) = wandb_attempts(RunDirectory(kept))
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
    assert run.steps() == list(range(1, 13)), "the file had the first of them"
    assert run.exit_codes == [1, 0]
    assert attempt.is_sent


@pytest.mark.long
def test_what_a_killed_attempt_did_not_keep_is_sent_from_the_metrics(
    command_line: CommandLine,
    only_run: Find,
    server: RecordingServer,
    log_in: Callable[[], None],
    capfd: pytest.CaptureFixture[str],
) -> None:
    """W&B writes in blocks: the file of the first attempt is empty but for its first bytes, when the second follows."""
    offline = ("logger=wandb", "logger.mode=offline")
    assert command_line(*offline, signal_at(8, signal.SIGKILL)).returncode == -signal.SIGKILL
    assert command_line(*offline).returncode == 0
    killed, whole = wandb_attempts(RunDirectory(only_run()))
    assert killed.file.stat().st_size < 100
    log_in()
    capfd.readouterr()
    assert main(["sync", *HASTE]) == 0
    (line,) = capfd.readouterr().out.splitlines()
    assert "2 attempts sent" in line
    run_id, run = server.only_run()
    record = read_record(only_run() / "run.json")
    assert run_id == record.run_id
    assert sorted(run.steps()) == list(range(1, 13))
    assert sorted(run.steps("val/ppl")) == [6, 12]
    assert (run.summary["trainer/global_step"], run.summary["dev/ppl"]) == (12, record.scores["dev"].ppl)
    assert run.exit_codes[-1] == 0
    assert killed.is_sent
    assert whole.is_sent
    assert main(["sync", *HASTE]) == 0
    assert "nothing to send" in capfd.readouterr().out


def test_a_damaged_attempt_holds_back_no_other(
    kept: Path, server: RecordingServer, log_in: Callable[[], None], capfd: pytest.CaptureFixture[str]
) -> None:
    other = copied_run(kept, kept.parent / "other")
    (attempt,) = wandb_attempts(RunDirectory(kept))
    content = attempt.file.read_bytes()
    attempt.file.write_bytes(content[:9000] + bytes(200) + content[9200:])
    log_in()
    assert main(["sync", *HASTE]) == 0
    assert len(capfd.readouterr().out.splitlines()) == 2
    _, run = server.only_run()
    assert {*run.steps()} == {*range(1, 13)}
    assert all(each.is_sent for path in (kept, other) for each in wandb_attempts(RunDirectory(path)))


@pytest.mark.long
def test_data_that_an_online_run_could_not_send_is_sent_later_and_once(
    train: Train, server: RecordingServer, log_in: Callable[[], None], capfd: pytest.CaptureFixture[str]
) -> None:
    log_in()
    server.fails_from, server.failure = "file_stream", HTTPStatus.NOT_FOUND  # permanent; the client reports nothing
    assert train(tracker="wandb") == 0
    server.fails_from = server.refusal = None
    _, run = server.only_run()
    assert not run.steps(), "it was created, without data"
    assert main(["sync", *HASTE]) == 0
    assert f": sent, {server.url}/" in capfd.readouterr().out
    assert run.steps() == list(range(1, 13))
    assert main(["sync", *HASTE]) == 0
    assert "nothing to send" in capfd.readouterr().out


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_an_interrupted_sync_leaves_no_process_and_no_mark(kept: Path, log_in: Callable[[], None]) -> None:
    log_in()
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.settimeout(120)
        address = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with (
            subprocess.Popen(
                [*AIAYN, "sync"],
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
    until(lambda: not processes_of(address), seconds=20)
    directory = RunDirectory(kept)
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
