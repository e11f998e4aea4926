"""A disturbed process group ends as a whole, reports the reason, and can be resumed."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from commands import AIAYN, CommandLine, until

from aiayn.runs.record import Status, read_record
from aiayn.system import machine

pytestmark = pytest.mark.long


TWO = "trainer.devices=2"
ENDLESS = ("optimization.max_steps=100000", "optimization.validation_interval=50000")

REAPED_SECONDS = 75
"""Longer than the grace period of a group; on an idle machine it ends in a few seconds."""


@dataclass
class Group:
    """A command whose two workers train."""

    command: subprocess.Popen[str]
    run: Path

    def process(self, name: str) -> int:
        """The process id of the command, the agent, or a rank."""
        if name == "command":
            return self.command.pid
        if name == "agent":
            (agent,) = (number for number, words in self.processes() if "aiayn.launch.group" in words)
            return agent
        return next(
            number
            for number, _ in self.processes()
            if f"RANK={name.removeprefix('rank ')}".encode()
            in Path(f"/proc/{number}/environ").read_bytes().split(b"\0")
        )

    def processes(self) -> list[tuple[int, str]]:
        """Every process of the run except the command, with its command line."""
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                words = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            except OSError:
                continue
            number = int(folder.name)
            if str(self.run) in words and "aiayn.launch." in words and machine.is_alive(number):
                found.append((number, words))
        return found

    def steps(self) -> list[int]:
        """The steps logged so far."""
        path = self.run / "metrics.jsonl"
        lines = path.read_text().splitlines() if path.exists() else []
        return [json.loads(line)["step"] for line in lines if line.endswith("}")]

    def end(self) -> tuple[int, str]:
        """Wait for the command and all its processes; its exit code and standard error."""
        _, said = self.command.communicate(timeout=REAPED_SECONDS)
        until(lambda: not self.processes(), seconds=REAPED_SECONDS)
        return self.command.returncode, said


@pytest.fixture
def start(tmp_path: Path, tiny: tuple[str, ...]) -> Iterator[Callable[..., Group]]:
    """Start a run of two processes, and wait until it has trained a few steps."""
    groups: list[Group] = []

    def call(*words: str) -> Group:
        command = [*AIAYN, "train", *tiny, "logger=none", TWO, *ENDLESS, *words]
        started = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        until(lambda: started.poll() is not None or list(tmp_path.glob("runs/*/*/*/metrics.jsonl")))
        assert started.poll() is None, started.communicate()
        groups.append(Group(started, next(tmp_path.glob("runs/*/*/*/metrics.jsonl")).parent))
        until(lambda: len(groups[-1].steps()) >= 4)
        return groups[-1]

    yield call
    for group in groups:
        for number, _ in group.processes():
            os.kill(number, signal.SIGKILL)
        group.command.kill()
        group.command.communicate()


@pytest.mark.parametrize(
    ("target", "number"),
    [
        ("command", signal.SIGINT),
        ("command", signal.SIGUSR1),
        ("agent", signal.SIGTERM),
        ("rank 0", signal.SIGUSR1),
        ("rank 1", signal.SIGTERM),
    ],
)
def test_a_signal_to_any_process_stops_all_ranks_after_the_same_step(
    start: Callable[..., Group], target: str, number: signal.Signals
) -> None:
    group = start()
    os.kill(group.process(target), number)
    code, said = group.end()
    assert code == 1
    record = read_record(group.run / "run.json")
    assert record.status is Status.interrupted
    assert group.steps()[-1] == record.steps, "no rank has trained another step"
    assert (group.run / "checkpoints" / f"step-{record.steps:07d}.ckpt").is_file()
    complaint = said.splitlines()[-1]
    assert complaint.startswith("aiayn: stopped by SIG")
    assert complaint.endswith(f"after step {record.steps} of 100000; rerun the command to resume")
    assert not (group.run / ".failures").exists()


def test_a_rank_that_runs_out_of_memory_is_named(tmp_path: Path, command_line: CommandLine) -> None:
    failing = "+callbacks.failing={_target_: observers.ExhaustMemoryAt, rank: 1, batch: 4}"
    result = command_line(TWO, failing)
    assert result.returncode == 1, result.stderr
    assert "Traceback" not in result.stderr
    (run,) = tmp_path.glob("runs/*/*/*/run.json")
    record = read_record(run)
    assert record.status is Status.failed
    assert str(record.message).startswith("rank 1: memory does not suffice: lower optimization.max_tokens_per_device")
    assert f"aiayn: {record.message}" in result.stderr.splitlines()


def test_a_rank_that_starts_after_its_group_ended_exits_at_once(trained_run: Path, tmp_path: Path) -> None:
    """Its agent was killed while it loaded libraries, and cannot end it."""
    gone = {"AIAYN_GROUP": str(tmp_path / "gone"), "AIAYN_STORE": str(tmp_path / "gone" / "ranks")}
    rank = {"TORCHELASTIC_RUN_ID": "0", "RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2"}
    worker = [sys.executable, "-m", "aiayn.launch.worker", str(trained_run), "aiayn train"]
    before = (trained_run / "run.json").read_bytes()
    ended = subprocess.run(worker, env={**os.environ, **gone, **rank}, capture_output=True, timeout=120, check=False)
    assert (ended.returncode, ended.stderr) == (1, b"")
    assert (trained_run / "run.json").read_bytes() == before


@pytest.mark.parametrize("target", ["rank 0", "rank 1", "agent"])
def test_a_killed_process_ends_the_group_and_is_named(start: Callable[..., Group], target: str) -> None:
    group = start()
    os.kill(group.process(target), signal.SIGKILL)
    code, said = group.end()
    assert code == 1
    assert "Traceback" not in said
    killed = target if target != "agent" else "the process group"
    complaint = said.splitlines()[-1]
    assert complaint.startswith(f"aiayn: {killed} was killed by SIGKILL: the kernel does so when memory runs out")
    record = read_record(group.run / "run.json")
    assert record.status is Status.failed
    assert record.message is not None
    assert record.message in complaint
    assert not (group.run / ".failures").exists()


def test_ranks_stop_with_a_checkpoint_when_the_command_is_killed(start: Callable[..., Group]) -> None:
    group = start()
    os.kill(group.process("command"), signal.SIGKILL)
    group.end()
    record = read_record(group.run / "run.json")
    assert record.status is Status.interrupted
    assert (group.run / "checkpoints" / f"step-{record.steps:07d}.ckpt").is_file()


def test_a_rank_that_hangs_is_named(start: Callable[..., Group]) -> None:
    group = start("launch.timeout_seconds=10")
    stopped = group.process("rank 1")
    os.kill(stopped, signal.SIGSTOP)
    code, said = group.end()
    assert code == 1
    assert "rank 1 hangs: lost contact with another rank (launch.timeout_seconds=10)" in said.splitlines()[-1]
    record = read_record(group.run / "run.json")
    assert record.status is Status.failed
    assert not machine.is_alive(stopped)


def test_the_number_of_processes_may_be_swept(tmp_path: Path, command_line: CommandLine) -> None:
    swept = ("-m", "trainer.devices=1,2", "paths.runs=by-${trainer.devices}", "optimization.max_steps=3")
    result = command_line("model.dropout=0.0", *swept)
    assert result.returncode == 0, result.stderr
    one, two = (read_record(next(tmp_path.glob(f"by-{count}/*/*/*/run.json"))) for count in (1, 2))
    assert (one.hardware["processes"], two.hardware["processes"]) == (1, 2)
    assert two.tokens == one.tokens
    assert two.scores["dev"].ppl == pytest.approx(one.scores["dev"].ppl, rel=1e-4)


def test_a_group_listens_on_loopback_only(start: Callable[..., Group]) -> None:
    group = start()
    own = {socket for number, _ in group.processes() for socket in sockets_of(number)}
    listening = {
        row.split()[1]: row.split()[9]
        for table in ("tcp", "tcp6")
        for row in Path(f"/proc/net/{table}").read_text().splitlines()[1:]
        if row.split()[3] == "0A"
    }
    addresses = [address.partition(":")[0] for address, socket in listening.items() if socket in own]
    assert set(addresses) <= {"0100007F", f"{'0' * 24}01000000"}, "127.0.0.1 or ::1"
    os.kill(group.process("command"), signal.SIGTERM)
    assert group.end()[0] == 1


def sockets_of(process: int) -> list[str]:
    """The numbers of the sockets that a process has open."""
    links = [str(link.readlink()) for link in Path(f"/proc/{process}/fd").iterdir() if link.is_symlink()]
    return [link.removeprefix("socket:[").rstrip("]") for link in links if link.startswith("socket:[")]


@pytest.mark.parametrize(("tokens", "engine"), [(80, "torch"), (4000, "torch"), (80, "ctranslate2")])
def test_ranks_share_an_evaluation_to_the_byte(trained_run: Path, tmp_path: Path, tokens: int, engine: str) -> None:
    """With many batches, and with one batch for three ranks."""
    written = []
    for ranks in (1, 3):
        run = tmp_path / f"by-{ranks}"
        shutil.copytree(trained_run, run)
        torchrun = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={ranks}"] if ranks > 1 else []
        words = [f"run={run}", "checkpoint=1", "decoding.beam_size=3", f"decoding.batch_tokens={tokens}"]
        done = subprocess.run(
            [sys.executable, *torchrun, "-m", "aiayn", "evaluate", *words],
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout.count("dev.hypotheses.txt") == 1, "one rank prints"
        files = run.glob("evaluations/step-0000001-beam3-*/*.*")
        written.append({path.name: path.read_bytes() for path in files if path.suffix in (".txt", ".jsonl")})
    assert len(written[0]) == 4
    assert len(set(written[0]["test.hypotheses.txt"].splitlines())) > 3
    assert written[0] == written[1]
