"""The process group of a run, and its control messages beside gradients."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, TypeVar, final

import torch
import torch.distributed as dist

from aiayn.errors import RunFailedError, UserError
from aiayn.system.processes import stated_number
from aiayn.system.torch_internals import lost_peer

STORE = "AIAYN_STORE"
"""Environment variable: the file store of one host's ranks; without it they use MASTER_ADDR and MASTER_PORT."""

MEETING_INTERVAL = 0.05
"""Seconds between two checks for the other ranks."""

T = TypeVar("T")


class LostRankError(RunFailedError):
    """Another rank has ended or does not answer."""


@final
class ProcessGroup:
    """One rank's view of its group, with control messages over CPUs; a process without a group is rank 0 of 1."""

    def __init__(self, *, rank: int = 0, size: int = 1, control: dist.ProcessGroup | None = None) -> None:
        self.rank = rank
        self.size = size
        self._control = control

    @property
    def is_leader(self) -> bool:
        """Whether this rank writes files and logs for all."""
        return self.rank == 0

    def gather(self, value: T) -> list[T]:
        """The values of all ranks, by rank, on every rank."""
        if self._control is None:
            return [value]
        values = [value] * self.size
        dist.all_gather_object(values, value, group=self._control)
        return values

    def broadcast(self, value: T) -> T:
        """The value of rank 0."""
        if self._control is None:
            return value
        values = [value]
        dist.broadcast_object_list(values, src=0, group=self._control)
        return values[0]

    def all_reduce_max(self, value: int) -> Callable[[], int]:
        """Begin a maximum over all ranks; the returned function waits for it. A collective operation."""
        if self._control is None:
            return lambda: value
        number = torch.tensor(value)
        work = dist.all_reduce(number, op=dist.ReduceOp.MAX, group=self._control, async_op=True)
        assert work is not None

        def wait() -> int:
            work.wait()
            return int(number)

        return wait


ALONE = ProcessGroup()
"""The group of a run with one process."""


@contextmanager
def joined(*, rank: int, size: int, device: torch.device, timeout_seconds: int) -> Iterator[ProcessGroup]:
    """Join the other ranks and wait until all have joined; `ALONE` for one process.

    Raises:
        LostRankError: another rank did not join, ended, or did not answer within the timeout, now or later.
    """
    if size == 1:
        yield ALONE
        return
    timeout = timedelta(seconds=timeout_seconds)
    with lost_ranks_explained(timeout_seconds):
        store = _store(rank, size, timeout)
        _rendezvous(store, size, timeout_seconds)
        # Lightning uses the existing group. NCCL connects at the first gradients: no GPU is held while the corpus is
        # prepared.
        backend = "cpu:gloo,cuda:nccl" if device.type == "cuda" else "gloo"
        dist.init_process_group(backend, store=store, rank=rank, world_size=size, timeout=timeout)
        # Control messages use CPUs, so that no rank waits for its GPU to learn of a signal, and a group of their own,
        # so that their order relative to the gradients may differ between ranks.
        yield ProcessGroup(rank=rank, size=size, control=dist.new_group(backend="gloo", timeout=timeout))
    dist.destroy_process_group()  # not after an error: it would wait for the lost rank


def _store(rank: int, size: int, timeout: timedelta) -> Any:
    """The store at which the ranks meet: on one host a file, since a port is open to others; else rank 0's port."""
    stores: Any = dist  # documented, but not exported to type checkers
    path = os.environ.get(STORE)
    if path is not None:
        store = stores.FileStore(path, size)
        store.set_timeout(timeout)
        return store
    _stated("MASTER_PORT")
    is_torchruns = os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True"
    store = stores.TCPStore(
        _stated("MASTER_ADDR"),
        stated_number("MASTER_PORT", 0),
        size,
        is_master=rank == 0 and not is_torchruns,
        timeout=timeout,
        wait_for_workers=False,
    )
    attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
    return stores.PrefixStore(f"aiayn-{attempt}", store)


def _stated(variable: str) -> str:
    value = os.environ.get(variable)
    if not value:
        raise UserError(f"{variable}: is not set, so that the ranks cannot meet; start them by torchrun or srun")
    return value


def _rendezvous(store: Any, size: int, timeout_seconds: int) -> None:
    """Wait for all ranks here and not in the library, which would block signals."""
    store.add("joined", 1)
    end = time.monotonic() + timeout_seconds
    while (found := store.add("joined", 0)) < size:
        if time.monotonic() > end:
            raise LostRankError(
                f"{found} of {size} ranks joined within launch.timeout_seconds={timeout_seconds}: were all started?"
            )
        time.sleep(MEETING_INTERVAL)


@contextmanager
def lost_ranks_explained(timeout_seconds: int) -> Iterator[None]:
    """Turn a transport's error on a missing rank into a `LostRankError`; other errors pass."""
    try:
        yield
    except RuntimeError as error:
        said = None if isinstance(error, RunFailedError) else lost_peer(error)
        if said is None:
            raise
        raise LostRankError(
            f"lost contact with another rank (launch.timeout_seconds={timeout_seconds}): {said}"
        ) from error
