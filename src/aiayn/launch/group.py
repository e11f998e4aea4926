"""The agent of a process group on this host: it runs torchrun's agent, and finds which rank failed first.

Started by `aiayn.launch.dispatch`: `python -m aiayn.launch.group <run directory> <command typed> <processes>`.

    aiayn train trainer.devices=2      holds the directory, writes config.yaml, waits
      aiayn.launch.group               passes signals on, finds the rank that failed first
        aiayn.launch.worker  rank 0    joins, trains, writes
        aiayn.launch.worker  rank 1    joins, trains

Ranks compare configuration, a checksum of the source files, versions, and later the data's fingerprint; they refuse to
start if these differ. Gradients use NCCL or gloo; everything else uses a second gloo group. At the end of every step
the ranks reduce the highest signal that any received, and read the answer one step later, so all stop after the same
step. A rank that fails writes its reason to `.failures/`; another rank's own reason is reported instead of a lost
connection. The agent stops the other ranks, and this module kills them after 10 seconds. Each worker writes its process
id to a temporary folder, so that the command can end all workers. If the command ends, each worker stops within about a
second, as after SIGTERM: it writes its checkpoint, and exits after 60 seconds at the latest. Ranks of one host open no
port to other hosts.
"""

import logging
import os
import signal
import sys
import time
import uuid
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

from torch.distributed.elastic.multiprocessing import DefaultLogsSpecs
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError, ProcessFailure
from torch.distributed.launcher.api import LaunchConfig, elastic_launch

from aiayn.errors import USER_ERROR
from aiayn.launch import ranks
from aiayn.launch.forked_workers import WORKER
from aiayn.launch.ranks import FOLDER, Kind, cause_of, exit_text, read_failures, write_failure
from aiayn.runs.directory import RunDirectory
from aiayn.system.scratch import remove_scratch
from aiayn.system.signals import INTERRUPTING
from aiayn.training.process_group import STORE

SHUTDOWN_SECONDS = 10
"""Time for the other ranks to write the record after one has failed."""

POLL_SECONDS = 0.2

LOOPBACK = {"GLOO_SOCKET_IFNAME": "lo", "NCCL_SOCKET_IFNAME": "lo"}
"""Other hosts must not reach the ranks."""


def main() -> int:
    """Run the group to its end; its exit code."""
    path, command, processes = sys.argv[1:]
    folder = Path(os.environ[FOLDER])
    received: list[int] = []
    for number in INTERRUPTING:
        signal.signal(number, lambda number, _: received.append(number))
    logging.getLogger("torch.distributed.elastic").setLevel(logging.CRITICAL)  # its many lines become one
    signalled: set[int] = set()
    first_exit: float | None = None
    # In the main thread the agent would handle signals itself, and kill workers that write their checkpoint.
    agent = ThreadPoolExecutor(max_workers=1).submit(_run, path, command, int(processes), folder)
    while not agent.done():
        wait([agent], timeout=POLL_SECONDS)
        if received:  # once to each worker, including those that registered after the signal
            ranks.send_signal(new := ranks.running(folder) - signalled, received[0])
            signalled |= new
        if first_exit is None and ranks.exited(folder):
            first_exit = time.monotonic()
        if first_exit is not None and time.monotonic() - first_exit > SHUTDOWN_SECONDS:
            ranks.send_signal(ranks.running(folder), signal.SIGKILL)  # the agent itself would wait for 30 s
    remove_scratch(folder)  # the command, which removes it too, may have been killed
    failures = agent.result()  # raises the agent's own errors
    return _exit_code(RunDirectory(Path(path)), failures) if failures else 0


def _run(path: str, command: str, processes: int, folder: Path) -> Mapping[int, ProcessFailure]:
    """Run the workers to their end; the failed ones by rank."""
    os.environ |= {
        **{name: os.environ.get(name, value) for name, value in LOOPBACK.items() if sys.platform == "linux"},
        STORE: str(folder / "ranks"),
        # Ranks and agent meet through files on this host: a port would be open to others.
        "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1",
        "TORCH_CPP_LOG_LEVEL": os.environ.get("TORCH_CPP_LOG_LEVEL", "ERROR"),
    }
    config = LaunchConfig(
        min_nodes=1,
        max_nodes=1,
        nproc_per_node=processes,
        logs_specs=DefaultLogsSpecs(log_dir=str(folder)),
        run_id=uuid.uuid4().hex,
        rdzv_backend="c10d",
        rdzv_endpoint=str(folder / "agents"),
        rdzv_configs={"store_type": "file"},
        local_addr="localhost",
        max_restarts=0,
    )
    try:
        flags = ["-P"] if sys.flags.safe_path else []  # as this process was started
        elastic_launch(config, sys.executable)(*flags, "-m", WORKER, path, command)
    except ChildFailedError as error:
        return error.failures
    return {}


def _exit_code(directory: RunDirectory, failures: Mapping[int, ProcessFailure]) -> int:
    """The exit code of a failed group; writes the failure of a rank that could not write it."""
    written = read_failures(directory)
    silent = {rank: each for rank, each in failures.items() if rank not in {failure.rank for failure in written}}
    if cause_of(written) is None and silent:
        # The agent ends the other ranks by SIGTERM, which kills those that do not handle it yet.
        first = min(silent, key=lambda rank: (silent[rank].timestamp, silent[rank].exitcode == -signal.SIGTERM, rank))
        text = exit_text(silent[first].exitcode)
        lost = min((each for each in written if each.kind is Kind.lost), key=lambda each: each.seconds, default=None)
        if lost is not None and silent[first].timestamp - lost.seconds > SHUTDOWN_SECONDS / 2:
            text = f"hangs: {lost.message}"  # it ran until it was killed here, after the others had given up
        write_failure(directory, rank=first, kind=Kind.killed, message=f"rank {first} {text}")
    cause = cause_of(read_failures(directory))
    return USER_ERROR if cause is not None and cause.kind is Kind.refused else 1


if __name__ == "__main__":
    sys.exit(main())
