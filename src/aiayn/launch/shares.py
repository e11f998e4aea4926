"""A job's share of the machine that it runs on beside others: its GPUs or cores, and its threads."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from aiayn.config.schema import TrainConfig
from aiayn.errors import UserError
from aiayn.launch.leases import Lease, Need, leased
from aiayn.system import machine
from aiayn.system.devices import stated_devices

GPU, CORE = "GPU", "core"

THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")


@dataclass(frozen=True)
class Share:
    """What one job may use."""

    need: Need
    threads: int
    """Of each of its processes."""
    processes: int


@dataclass(frozen=True)
class Place:
    """Where the workers of one job run."""

    environment: Mapping[str, str]
    cores: frozenset[int]
    """What they may run on; empty: wherever their starter may."""
    descriptors: tuple[int, ...]
    """Of the lease; the workers must inherit them."""

    @contextmanager
    def pinned(self) -> Iterator[None]:
        """Let what this thread starts run on these cores alone."""
        if not self.cores or not hasattr(os, "sched_setaffinity"):
            yield
            return
        before = os.sched_getaffinity(0)
        os.sched_setaffinity(0, self.cores)
        try:
            yield
        finally:
            os.sched_setaffinity(0, before)


def share_of(config: TrainConfig, *, jobs_at_once: int) -> Share:
    """The share of a job of `aiayn train`.

    Args:
        config: the job.
        jobs_at_once: how many the launcher does.

    Raises:
        UserError: the job asks for more than this machine has.
    """
    launch, cores = config.launch, machine.cores()
    if launch.cores_per_job is not None and launch.cores_per_job > len(cores):
        raise UserError(
            f"launch.cores_per_job={launch.cores_per_job}: this machine has {len(cores)}; state as many or fewer"
        )
    if machine.works_on_gpus(config.trainer.get("accelerator")):
        need = _gpus(config)
        each = len(cores) // (len(machine.gpus()) * launch.jobs_per_device)
        threads = each if launch.cores_per_job is None else launch.cores_per_job // need.count
        return Share(need, threads=max(1, threads), processes=need.count)
    devices = stated_devices(config.trainer) or 1
    processes = len(devices) if isinstance(devices, list) else devices
    count = launch.cores_per_job or max(processes, len(cores) // max(1, jobs_at_once))
    if processes > count or count > len(cores):
        raise UserError(
            f"trainer.devices={config.trainer.get('devices')}: a process each, and a job has "
            f"{min(count, len(cores))} of this machine's {len(cores)} cores; ask for fewer"
        )
    need = Need(CORE, tuple(map(str, cores)), count)
    return Share(need, threads=count // processes, processes=processes)


def _gpus(config: TrainConfig) -> Need:
    visible, stated = machine.gpus(), stated_devices(config.trainer)
    indices = sorted(set(stated)) if isinstance(stated, list) else range(len(visible) if stated is None else stated)
    if not indices or max(indices) >= len(visible):
        there = f"{len(visible)} GPUs ({', '.join(visible)})" if visible else "no GPU"
        raise UserError(
            f"trainer.devices={config.trainer.get('devices')}: this machine shows {there}; ask for what it has"
        )
    choices = tuple(visible[index] for index in indices) if isinstance(stated, list) else tuple(visible)
    return Need(GPU, choices, len(indices), sharers=config.launch.jobs_per_device)


ANYWHERE = Place(environment={}, cores=frozenset(), descriptors=())
"""Of a job that has the machine to itself."""


@contextmanager
def placed(share: Share) -> Iterator[Place]:
    """Lease what a share takes, as soon as it is free."""
    with leased(share.need) as lease:
        yield _place(share, lease)


def _place(share: Share, lease: Lease) -> Place:
    on_gpus = share.need.kind == GPU
    return Place(
        environment={
            machine.VISIBLE: ",".join(lease.names) if on_gpus else "",
            **dict.fromkeys(THREAD_VARIABLES, str(share.threads)),
        },
        cores=frozenset() if on_gpus else frozenset(map(int, lease.names)),
        descriptors=lease.descriptors,
    )
