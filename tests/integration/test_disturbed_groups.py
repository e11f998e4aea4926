"""A disturbed process group ends as a whole, reports the reason, and can be resumed."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from commands import CommandLine
from groups import Group, started_group

from aiayn.commands.front_end import main
from aiayn.runs.record import Status, read_record
from aiayn.system import machine

pytestmark = pytest.mark.long


TWO = "trainer.devices=2"


@pytest.fixture
def start(tmp_path: Path, tiny: tuple[str, ...]) -> Iterator[Callable[..., Group]]:
    """Start a run of two processes, and wait until it has trained a few steps."""
    with ExitStack() as stack:
        yield lambda *words: stack.enter_context(started_group(tmp_path, *tiny, *words))


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
    name = "Ctrl-C" if number is signal.SIGINT else number.name
    reason = f"stopped by {name} after step {record.steps} of 100000; rerun the command to resume"
    assert said.splitlines()[-1] == f"aiayn: {reason}"
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


@pytest.mark.parametrize("tokens", [80, 4000])
def test_ranks_share_an_evaluation_to_the_byte(trained_run: Path, tmp_path: Path, tokens: int) -> None:
    """With many batches, and with one batch for three ranks."""
    words = ["checkpoint=1", "decoding.beam_size=3", f"decoding.batch_tokens={tokens}"]
    alone, shared = (Path(shutil.copytree(trained_run, tmp_path / name)) for name in ("alone", "shared"))
    assert main(["evaluate", f"run={alone}", *words]) == 0
    torchrun = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node=3"]
    done = subprocess.run(
        [sys.executable, *torchrun, "-m", "aiayn", "evaluate", f"run={shared}", *words],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("dev.hypotheses.txt") == 1, "one rank prints"
    expected = evaluated(alone)
    assert len(expected) == 4
    assert len(set(expected["test.hypotheses.txt"].splitlines())) > 3
    assert evaluated(shared) == expected


def evaluated(run: Path) -> dict[str, bytes]:
    """The hypotheses and sentence scores of checkpoint 1."""
    files = run.glob("evaluations/step-0000001-beam3-*/*.*")
    return {path.name: path.read_bytes() for path in files if path.suffix in (".txt", ".jsonl")}
