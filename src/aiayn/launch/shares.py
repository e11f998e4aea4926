"""A job's share of a machine with other jobs: its GPUs or cores, leased by locks on files.

The workers inherit the locks, so a device is free exactly when they are gone, however they and their starter ended.
"""

import fcntl
import logging
import os
import stat
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from aiayn.config.schema import TrainConfig
from aiayn.errors import UserError
from aiayn.system import machine
from aiayn.system.processes import gpus_to_choose_from, stated_devices
from aiayn.system.scratch import naming_tmpdir

logger = logging.getLogger("aiayn")

GPU, CORE = "GPU", "core"

THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")

POLL_SECONDS = 1.0
"""Between two attempts to lease."""


@dataclass(frozen=True)
class Share:
    """The devices that one job leases, and its processes."""

    kind: str
    """GPU or core."""
    choices: tuple[str, ...]
    """The names of the devices to choose from."""
    count: int
    """Devices to lease."""
    threads: int = 1
    """Of each process."""
    processes: int = 1
    sharers: int = 1
    """Jobs that may use one device at the same time, if they state the same."""


@dataclass(frozen=True)
class Lease:
    """The devices that one job may use while its workers live."""

    names: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    """Variables of the workers."""
    cores: frozenset[int] = frozenset()
    """Cores that the workers may run on; empty: those of their starter."""
    descriptors: tuple[int, ...] = ()
    """Of the locks, which the workers must inherit."""

    @contextmanager
    def pinned(self) -> Iterator[None]:
        """Restrict processes that this thread starts inside the block to the cores of the lease."""
        if not self.cores or not hasattr(os, "sched_setaffinity"):
            yield
            return
        before = os.sched_getaffinity(0)
        os.sched_setaffinity(0, self.cores)
        try:
            yield
        finally:
            os.sched_setaffinity(0, before)


WHOLE_MACHINE = Lease()
"""Of a job that has the machine to itself."""


def share_of(config: TrainConfig, *, jobs_at_once: int) -> Share:
    """The share of a job of `aiayn train`, of which the launcher runs `jobs_at_once`."""
    launch, cores = config.launch, machine.cores()
    if launch.cores_per_job is not None and launch.cores_per_job > len(cores):
        raise UserError(
            f"launch.cores_per_job={launch.cores_per_job}: this machine has {len(cores)}; state as many or fewer"
        )
    if machine.works_on_gpus(config.trainer.get("accelerator")):
        choices, count = gpus_to_choose_from(config.trainer)
        each = len(cores) // (len(machine.gpus()) * launch.jobs_per_device)
        threads = max(1, each if launch.cores_per_job is None else launch.cores_per_job // count)
        return Share(GPU, choices, count, threads=threads, processes=count, sharers=launch.jobs_per_device)
    devices = stated_devices(config.trainer) or 1
    processes = len(devices) if isinstance(devices, list) else devices
    count = launch.cores_per_job or max(processes, len(cores) // max(1, jobs_at_once))
    if processes > count or count > len(cores):
        raise UserError(
            f"trainer.devices={config.trainer.get('devices')}: each process needs a core, and a job gets "
            f"{min(count, len(cores))} of this machine's {len(cores)}; state fewer devices, or run fewer jobs at once"
        )
    return Share(CORE, tuple(map(str, cores)), count, threads=count // processes, processes=processes)


@contextmanager
def leased(share: Share) -> Iterator[Lease]:
    """Lease the devices of a share as soon as they are free."""
    with ExitStack() as held:
        lease = try_lease(share, held)
        if lease is None:
            logger.info("waiting for a free %s: other jobs have leased them; Ctrl-C ends the waiting", share.kind)
        while lease is None:
            time.sleep(POLL_SECONDS)
            lease = try_lease(share, held)
        yield lease


def try_lease(share: Share, held: ExitStack) -> Lease | None:
    """Lease all devices of a share, or none if too few are free; `held` closes the locks."""
    folder = _folder()
    with ExitStack() as taking:
        # While a folder is locked, systemd-tmpfiles removes nothing from it, however old.
        descriptors = [_open(folder, os.O_RDONLY, taking)]
        fcntl.flock(descriptors[0], fcntl.LOCK_SH)
        with ExitStack() as choosing:  # one process at a time, so that no two wait for each other's half
            fcntl.flock(_open(folder / "looking", os.O_RDWR | os.O_CREAT, choosing), fcntl.LOCK_EX)
            names: list[str] = []
            for name in share.choices:
                if locks := _lock_device(folder / f"{share.kind}-{quote(name, safe='')}", share.sharers, taking):
                    names.append(name)
                    descriptors += locks
                if len(names) == share.count:
                    held.push(taking.pop_all())
                    return _lease(share, tuple(names), tuple(descriptors))
    return None


def _lease(share: Share, names: tuple[str, ...], descriptors: tuple[int, ...]) -> Lease:
    on_gpus = share.kind == GPU
    visible = {machine.VISIBLE: ",".join(names) if on_gpus else ""}
    environment = visible | dict.fromkeys(THREAD_VARIABLES, str(share.threads))
    return Lease(names, environment, frozenset() if on_gpus else frozenset(map(int, names)), descriptors)


def _folder() -> Path:
    """The folder of this user's leases, the same for all commands."""
    with naming_tmpdir():
        folder = Path(tempfile.gettempdir()) / f"aiayn-leases-{os.getuid()}"
        with suppress(FileExistsError):
            folder.mkdir(mode=0o700)
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid() or status.st_mode & 0o077:
        raise UserError(
            f"{folder}: leases lie here, and it is not yours alone: remove it, or set TMPDIR to another folder"
        )
    return folder


def _lock_device(path: Path, sharers: int, taking: ExitStack) -> list[int]:
    """Lock a device: exclusively, or shared and one of `sharers` places. The descriptors; empty if it is not free."""
    with ExitStack() as trying:
        lock = _try_lock(path, fcntl.LOCK_EX if sharers == 1 else fcntl.LOCK_SH, trying)
        locks = [] if lock is None else [lock]
        if locks and sharers > 1:
            places = (path.with_name(f"{path.name}.{place}") for place in range(sharers))
            tried = (_try_lock(place, fcntl.LOCK_EX, trying) for place in places)
            place = next((each for each in tried if each is not None), None)
            locks = [] if place is None else [*locks, place]
        if locks:
            taking.push(trying.pop_all())
        return locks


def _try_lock(path: Path, how: int, opened: ExitStack) -> int | None:
    """The descriptor of a new lock on a file, or None if others hold one."""
    descriptor = _open(path, os.O_RDWR | os.O_CREAT, opened)
    try:
        fcntl.flock(descriptor, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return None
    return descriptor


def _open(path: Path, flags: int, opened: ExitStack) -> int:
    descriptor = os.open(path, flags | os.O_CLOEXEC, 0o600)
    opened.callback(os.close, descriptor)
    return descriptor
