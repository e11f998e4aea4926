"""The process group of one run on this host: torchrun's agent around the workers, and who was to blame if they end.

Started by a command: `python -m aiayn.launch.group <run directory> <command typed> <processes>`.
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

from aiayn.launch.failures import Kind, cause_of, last_words, read_failures, write_failure
from aiayn.launch.members import FOLDER, fallen, forget_group, signal_workers, workers
from aiayn.runs.directory import RunDirectory
from aiayn.system.signals import ENDING
from aiayn.training.process_group import STORE

SHUTDOWN_SECONDS = 10
"""How long the others may go on when one rank has failed: enough to notice it, and to say so in the record."""

POLL_SECONDS = 0.2
"""Between two looks whether there are signals to pass on."""

LOOPBACK = {"GLOO_SOCKET_IFNAME": "lo", "NCCL_SOCKET_IFNAME": "lo"}
"""Ranks of one host need no other interface, and nobody else is to reach them."""


def main() -> int:
    """Run the group to its end; the exit code is the one that its run deserves."""
    path, command, processes = sys.argv[1:]
    folder = Path(os.environ[FOLDER])
    heard: list[int] = []
    for number in (signal.SIGINT, *ENDING):
        signal.signal(number, lambda number, _: heard.append(number))
    logging.getLogger("torch.distributed.elastic").setLevel(logging.CRITICAL)  # tells in many lines what we tell in one
    told: set[int] = set()
    first_fell: float | None = None
    # In the main thread the agent would answer signals in its own way, and kill workers that write their checkpoint.
    agent = ThreadPoolExecutor(max_workers=1).submit(_run, path, command, int(processes), folder)
    while not agent.done():
        wait([agent], timeout=POLL_SECONDS)
        if heard:  # once to each worker, also to those that have only now begun to understand it
            signal_workers(workers(folder) - told, heard[0])
            told |= workers(folder)
        if first_fell is None and fallen(folder):
            first_fell = time.monotonic()
        if first_fell is not None and time.monotonic() - first_fell > SHUTDOWN_SECONDS:
            signal_workers(workers(folder), signal.SIGKILL)  # the agent itself would wait for half a minute
    forget_group(folder)
    failures = agent.result()  # raises what the agent itself came to grief by
    return _judge(RunDirectory(Path(path)), failures) if failures else 0


def _run(path: str, command: str, processes: int, folder: Path) -> Mapping[int, ProcessFailure]:
    """Run the workers to their end, and return those that failed, by rank."""
    os.environ |= {
        **{name: os.environ.get(name, value) for name, value in LOOPBACK.items() if sys.platform == "linux"},
        STORE: str(folder / "ranks"),
        # All agents and ranks are on this host, and meet in files: a port would be open to others.
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
        elastic_launch(config, sys.executable)("-m", "aiayn.launch.worker", path, command)
    except ChildFailedError as error:
        return error.failures
    return {}


def _judge(directory: RunDirectory, failures: Mapping[int, ProcessFailure]) -> int:
    """Find out which rank was to blame, and note it where it could not."""
    told = read_failures(directory)
    silent = {rank: each for rank, each in failures.items() if rank not in {failure.rank for failure in told}}
    if cause_of(told) is None and silent:
        # SIGTERM is how the agent ends the others, who may not be listening yet.
        first = min(silent, key=lambda rank: (silent[rank].timestamp, silent[rank].exitcode == -signal.SIGTERM, rank))
        lost = min((each for each in told if each.kind is Kind.lost), key=lambda each: each.seconds, default=None)
        words = last_words(silent[first].exitcode)
        if lost is not None and silent[first].timestamp - lost.seconds > SHUTDOWN_SECONDS / 2:
            words = f"hangs: {lost.message}"  # it was there until it was killed here, after the others had given up
        write_failure(directory, rank=first, kind=Kind.killed, message=f"rank {first} {words}")
    cause = cause_of(read_failures(directory))
    return 2 if cause is not None and cause.kind is Kind.refused else 1


if __name__ == "__main__":
    sys.exit(main())
