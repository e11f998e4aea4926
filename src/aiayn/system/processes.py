"""How many processes a run needs, and whether this one already is one of them."""

import os
from collections.abc import Mapping
from typing import Any

from aiayn.errors import UserError
from aiayn.system import machine
from aiayn.system.devices import stated_devices

GROUP_VARIABLES = (
    "LOCAL_RANK",
    "RANK",
    "WORLD_SIZE",
    "GROUP_RANK",
    "LOCAL_WORLD_SIZE",
    "NODE_RANK",
    "MASTER_ADDR",
    "MASTER_PORT",
    "TORCHELASTIC_RUN_ID",
)
"""What a process group leaves in the environment; a new group must not inherit it."""


def by_torchrun() -> bool:
    """Whether torchrun, or what stands in `group.py` for it, started this process."""
    return "TORCHELASTIC_RUN_ID" in os.environ


def by_srun() -> bool:
    """Whether Slurm started this process as one of several tasks of a job step.

    A batch script sees the job's number of tasks as well, and is none of them: only a step has one of its own.
    """
    return not by_torchrun() and int(os.environ.get("SLURM_STEP_NUM_TASKS", "1")) > 1


def is_rank() -> bool:
    """Whether torchrun, or Slurm with several tasks, started this process as one of a group."""
    return by_torchrun() or by_srun()


def rank() -> int:
    """This process's number in its group; 0 without one."""
    return _of_group("RANK", "SLURM_PROCID", alone=0)


def local_rank() -> int:
    """This process's number among those of its group on this host; 0 without one."""
    return _of_group("LOCAL_RANK", "SLURM_LOCALID", alone=0)


def group_size() -> int:
    """The processes of this one's group; 1 without one."""
    return _of_group("WORLD_SIZE", "SLURM_STEP_NUM_TASKS", alone=1)


def _of_group(torchrun: str, slurm: str, *, alone: int) -> int:
    if by_torchrun():
        return int(os.environ.get(torchrun, alone))
    return int(os.environ.get(slurm, alone)) if by_srun() else alone


def devices_per_node(trainer: Mapping[str, Any]) -> int:
    """The processes that `trainer.devices` asks for on one host.

    Raises:
        UserError: it is neither a count, nor a list, nor "auto".
    """
    devices = stated_devices(trainer)
    if devices is None:
        import torch

        on_gpu = trainer.get("accelerator") in ("auto", "gpu", "cuda")
        return max(1, torch.cuda.device_count() if on_gpu else 1)
    return len(devices) if isinstance(devices, list) else devices


def num_nodes(trainer: Mapping[str, Any]) -> int:
    """The hosts that `trainer.num_nodes` asks for.

    Raises:
        UserError: it is no number from 1.
    """
    stated = trainer.get("num_nodes")
    if stated is not None and (not isinstance(stated, int) or isinstance(stated, bool) or stated < 1):
        raise UserError(f"trainer.num_nodes={stated}: state a number from 1")
    return stated or 1


def world_size(trainer: Mapping[str, Any]) -> int:
    """Processes of the whole group."""
    return devices_per_node(trainer) * num_nodes(trainer)


def refuse_another_size(trainer: Mapping[str, Any]) -> None:
    """Refuse a run whose processes are not as many as the configuration says.

    Raises:
        UserError: others were started than asked for, or several hosts by a command that starts processes on one.
    """
    devices, nodes = devices_per_node(trainer), num_nodes(trainer)
    if isinstance(stated_devices(trainer), list) and not machine.works_on_gpus(trainer.get("accelerator")):
        raise UserError(
            f"trainer.devices={trainer.get('devices')}: a list names GPUs; state how many processes instead"
        )
    asked = f"trainer.devices={trainer.get('devices')} trainer.num_nodes={nodes}"
    if is_rank() and group_size() != devices * nodes:
        starter = "torchrun" if by_torchrun() else "srun"
        raise UserError(
            f"{asked}: {devices * nodes} processes, but {starter} started {group_size()}: state as many devices as it "
            "starts processes on each host, and as many nodes as hosts"
        )
    if not is_rank() and nodes > 1:
        raise UserError(
            f"{asked}: this command starts processes on its own host alone: start it on each host by torchrun, or all "
            "of them by hydra/launcher=slurm (docs/distributed.md)"
        )
