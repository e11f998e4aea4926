"""One run on two hosts, each with its torchrun, gives the results of one process and survives a lost connection."""

import re
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from commands import SECONDS, Finished, until
from run_files import losses, only_run
from two_hosts import INTERFACE, Host, two_hosts

from aiayn.commands.front_end import main
from aiayn.runs.directory import RunDirectory
from aiayn.runs.record import Status, read_record

if TYPE_CHECKING:
    import subprocess

pytestmark = pytest.mark.long

Hosts = tuple[Host, Host]

TIMEOUT = 20
"""Seconds that a rank waits for another whose cable is pulled."""
GRACE = 60
"""More seconds until both have ended: torchrun looks up now and then, and Python takes its time to leave."""

BANNER = re.compile(r"failed \(exitcode: (-?\d+)\)")
"""What torchrun says first when a worker of its own has failed; tracebacks of its own follow."""


@dataclass(frozen=True)
class Attempt:
    """The command as it was typed on each host, and what came of it."""

    commands: list["subprocess.Popen[bytes]"]
    logs: list[Path]

    def end(self) -> list[int]:
        """Wait for both torchruns, and return their exit codes."""
        return [command.wait(timeout=SECONDS) for command in self.commands]

    @property
    def said(self) -> list[str]:
        """All that was said on each host."""
        return [log.read_text(encoding="utf-8", errors="replace") for log in self.logs]

    @property
    def failures(self) -> list[tuple[int, str]]:
        """Each worker's exit code and complaint: one line, however torchrun goes on."""
        found = []
        for said in self.said:
            banner = BANNER.search(said)
            assert banner, said
            ours = said[: banner.start()]
            assert "Traceback" not in ours
            (complaint,) = re.findall(r"^aiayn: (.*)$", ours, flags=re.MULTILINE)
            found.append((int(banner[1]), complaint))
        return found


Start = Callable[..., Attempt]


@pytest.fixture(scope="module")
def hosts() -> Iterator[Hosts]:
    with two_hosts() as both:
        yield both


@pytest.fixture(scope="module")
def words(tiny: tuple[str, ...], shared_cache: Path) -> tuple[str, ...]:
    """Of every run here: without dropout, whose masks are drawn for each rank."""
    return (*tiny, "logger=none", "model.dropout=0.0", f"paths.cache={shared_cache}")


@pytest.fixture(scope="module")
def alone(finished: Finished) -> Path:
    """The run as one process does it."""
    return finished("model.dropout=0.0")


@pytest.fixture
def start(hosts: Hosts, words: tuple[str, ...], tmp_path: Path) -> Iterator[Start]:
    """Type one command on both hosts, which see the same files."""
    environment = {"GLOO_SOCKET_IFNAME": INTERFACE}
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--nnodes=2", "--nproc-per-node=1"]
    torchrun += [f"--master-addr={hosts[0].address}", "--master-port=29500"]
    size = ("trainer.devices=1", "trainer.num_nodes=2")

    started: list[subprocess.Popen[bytes]] = []

    def start(*more: str, on_the_second: tuple[str, ...] = ()) -> Attempt:
        commands, logs = [], []
        for rank, host in enumerate(hosts):
            run = ["-m", "aiayn", "train", *words, *size, "paths.runs=runs", *more, *(on_the_second if rank else ())]
            logs.append(tmp_path / f"{host.name}.log")
            commands.append(
                host.start(
                    *torchrun, f"--node-rank={rank}", *run, folder=tmp_path, environment=environment, log=logs[-1]
                )
            )
        started.extend(commands)
        return Attempt(commands, logs)

    yield start
    for host in hosts:
        host.link("up")
        host.kill_all()
    for command in started:
        command.wait(timeout=SECONDS)


def assert_same_results(run: Path, other: Path) -> None:
    """Every step once, with the other's loss; every sentence scored once, with the other's scores."""
    own, theirs = read_record(run / "run.json"), read_record(other / "run.json")
    assert own.status is Status.finished
    assert list(losses(run)) == list(losses(other))
    assert losses(run) == pytest.approx(losses(other), rel=1e-5)
    assert own.tokens == theirs.tokens
    for split, expected in theirs.scores.items():
        assert own.scores[split].sentences == expected.sentences
        assert own.scores[split].ppl == pytest.approx(expected.ppl, rel=1e-5)
        lines = (run / own.scores[split].hypotheses).read_text().splitlines()
        assert lines == (other / expected.hypotheses).read_text().splitlines()


def test_two_hosts_train_as_one_process(start: Start, tmp_path: Path, alone: Path) -> None:
    attempt = start()
    assert attempt.end() == [0, 0], attempt.said
    run = only_run(tmp_path / "runs")
    assert run.name == alone.name, "hosts are no part of a run's identity"
    assert_same_results(run, alone)
    assert read_record(run / "run.json").hardware["processes"] == 2
    assert [said.count("this run") for said in attempt.said] == [1, 0], "one of them shows the run"


def test_a_lost_connection_fails_both_and_the_run_resumes(
    start: Start, hosts: Hosts, tmp_path: Path, alone: Path
) -> None:
    pulled = tmp_path / "pulled"
    wait = f"+callbacks.wait={{_target_: observers.WaitAt, batch: 5, path: {pulled}}}"
    same = (wait, f"launch.timeout_seconds={TIMEOUT}")
    attempt = start(*same)
    until(lambda: [path for path in tmp_path.glob("runs/*/*/*/metrics.jsonl") if '"step": 5' in path.read_text()])
    hosts[1].link("down")
    pulled.touch()
    began = time.monotonic()
    assert attempt.end() == [1, 1]
    assert time.monotonic() - began < TIMEOUT + GRACE
    assert [host.processes() for host in hosts] == [[], []]
    for code, complaint in attempt.failures:
        assert code == 1
        assert f"lost contact with another rank (launch.timeout_seconds={TIMEOUT})" in complaint
    run = only_run(tmp_path / "runs")
    record = read_record(run / "run.json")
    assert (record.status, record.message) == (Status.failed, attempt.failures[0][1])
    assert list(RunDirectory(run).steps()) == [3], "the last checkpoint before the cable was pulled"

    hosts[1].link("up")
    attempt = start(*same)
    assert attempt.end() == [0, 0], attempt.said
    assert_same_results(run, alone)


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ("seed=2", "seed: rank 1 has 2, rank 0 has 1;"),
        (
            "optimization.max_tokens_per_device=200",
            "optimization.max_tokens_per_device: rank 1 has 200, rank 0 has 25000;",
        ),
    ],
)
def test_hosts_that_compose_different_runs_are_refused(start: Start, tmp_path: Path, other: str, said: str) -> None:
    attempt = start(on_the_second=(other,))
    assert attempt.end() == [1, 1]
    for code, complaint in attempt.failures:
        assert code == 2
        assert f"the ranks differ in {said}" in complaint
    left = [path for path in (tmp_path / "runs").rglob("*") if path.is_file()]
    assert left == [], "no record, no checkpoint"


def test_a_multirun_under_torchrun_is_refused(
    words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "none")
    assert main(["train", *words, "-m", "seed=1,2"]) == 2
    assert capsys.readouterr().err.count("aiayn: torchrun or srun started this multirun ") == 1
    assert not list(tmp_path.glob("runs/*/*/*")), "no run has begun"
