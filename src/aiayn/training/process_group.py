"""The ranks that train one run together, and what they tell each other beside gradients. Plain torch."""

import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, Protocol, TypeVar, final

import torch
import torch.distributed as dist

from aiayn.errors import RunFailedError

STORE = "AIAYN_STORE"
"""Names the file by which the ranks of one host find each other; without it they go by MASTER_ADDR and MASTER_PORT."""

MEETING_INTERVAL = 0.05
"""Seconds between two looks whether the others have come."""

GLOO = re.compile(r"\bgloo\b|connection (closed|reset) by peer|caused pair closure", re.IGNORECASE)
"""Is in what gloo says, which has no type of error of its own; NCCL and the stores have."""

Told = TypeVar("Told")


class LostRankError(RunFailedError):
    """Another rank is gone or silent; why, it knows better itself."""


class Number(Protocol):
    """A number that may still be on its way."""

    def __call__(self) -> int:
        """Wait for it."""


@final
class ProcessGroup:
    """One rank's view of its group; a process without one is rank 0 of 1.

    Args:
        rank: of this process.
        size: processes in all.
        control: a group over CPUs, whatever the gradients travel by; None for one process.
    """

    def __init__(self, *, rank: int = 0, size: int = 1, control: dist.ProcessGroup | None = None) -> None:
        self.rank = rank
        self.size = size
        self._control = control

    @property
    def is_leader(self) -> bool:
        """Whether this is the one rank that writes and speaks."""
        return self.rank == 0

    def gather(self, value: Told) -> list[Told]:
        """What each rank has, by rank; every rank gets all."""
        if self._control is None:
            return [value]
        values = [value] * self.size
        dist.all_gather_object(values, value, group=self._control)
        return values

    def broadcast(self, value: Told) -> Told:
        """What rank 0 has."""
        if self._control is None:
            return value
        values = [value]
        dist.broadcast_object_list(values, src=0, group=self._control)
        return values[0]

    def highest(self, value: int) -> Number:
        """Begin to find the highest value of all ranks; nobody waits before asking for it.

        Every rank has to begin as often as the others.
        """
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
"""The group of a run that has one process."""


@contextmanager
def joined(*, rank: int, size: int, device: torch.device, timeout_seconds: int) -> Iterator[ProcessGroup]:
    """Join the other ranks, and wait until all have come.

    Args:
        rank: of this process.
        size: processes in all; where it is 1 there is nothing to join.
        device: what this rank trains on.
        timeout_seconds: how long a rank waits for another, now and later.

    Raises:
        LostRankError: another rank did not come, went, or did not answer in time.
    """
    if size == 1:
        yield ALONE
        return
    timeout = timedelta(seconds=timeout_seconds)
    on_gpu = device.type == "cuda"
    with lost_ranks_explained(timeout_seconds):
        if on_gpu:
            torch.cuda.set_device(device)
        store = _store(rank, size, timeout)
        _meet(store, size, timeout_seconds)
        # Lightning uses the group that it finds.
        dist.init_process_group(
            "nccl" if on_gpu else "gloo",
            store=store,
            rank=rank,
            world_size=size,
            timeout=timeout,
            device_id=device if on_gpu else None,
        )
        # Control goes over CPUs, so that no rank waits for its GPU in order to hear of a signal, and in a group of its
        # own, so that its order among the gradients' messages cannot differ between ranks.
        yield ProcessGroup(rank=rank, size=size, control=dist.new_group(backend="gloo", timeout=timeout))
    dist.destroy_process_group()  # not after an error: it would wait for what never comes


def _store(rank: int, size: int, timeout: timedelta) -> Any:
    """Where the ranks meet: on one host a file, since a port would be open to others; else at rank 0's port."""
    stores: Any = dist  # which documents them, and does not export them to type checkers
    path = os.environ.get(STORE)
    if path is not None:
        store = stores.FileStore(path, size)
        store.set_timeout(timeout)
        return store
    is_torchruns = os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True"
    store = stores.TCPStore(
        os.environ["MASTER_ADDR"],
        int(os.environ["MASTER_PORT"]),
        size,
        is_master=rank == 0 and not is_torchruns,
        timeout=timeout,
        wait_for_workers=False,
    )
    attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
    return stores.PrefixStore(f"aiayn-{attempt}", store)


def _meet(store: Any, size: int, timeout_seconds: int) -> None:
    """Wait for all ranks here and not in the library, where no signal would be heard.

    Raises:
        LostRankError: some did not come in time.
    """
    store.add("here", 1)
    end = time.monotonic() + timeout_seconds
    while (there := store.add("here", 0)) < size:
        if time.monotonic() > end:
            raise LostRankError(
                f"{there} of {size} ranks came within launch.timeout_seconds={timeout_seconds}: were all started?"
            )
        time.sleep(MEETING_INTERVAL)


@contextmanager
def lost_ranks_explained(timeout_seconds: int) -> Iterator[None]:
    """Turn what a transport says of a missing rank into a failure of the run; every other error passes.

    Raises:
        LostRankError: another rank is gone or silent.
    """
    try:
        yield
    except RuntimeError as error:
        if isinstance(error, RunFailedError) or not (isinstance(error, dist.DistError) or GLOO.search(str(error))):
            raise
        text = re.sub(r"\[[^\]]*/[^\]]*\]\s*", "", " ".join(str(error).split()))  # where in the library it was said
        hint = "; name the interface that the hosts share in GLOO_SOCKET_IFNAME" if "connectFullMesh" in text else ""
        said = text.partition(". ")[0] + hint
        raise LostRankError(
            f"lost contact with another rank (launch.timeout_seconds={timeout_seconds}): {said}"
        ) from error
