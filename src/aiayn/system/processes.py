"""The number of processes that a run needs, and this process's rank in its group."""

import os
import re
from collections.abc import Mapping
from typing import Any

from aiayn.errors import UserError
from aiayn.system import machine

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
"""Environment variables that a new process group must not inherit."""

PROCESSES_PER_CORE = 4
"""Most processes of a run without GPUs: more would exhaust the machine's memory and only wait for each other."""


def by_torchrun() -> bool:
    """Whether this process has torchrun's variables: of torchrun itself, `aiayn.launch.group` or Ray's launcher."""
    return "TORCHELASTIC_RUN_ID" in os.environ


def by_srun() -> bool:
    """Whether Slurm started this process as one of several tasks of a job step."""
    # A batch script has SLURM_NTASKS too, but not this variable.
    return not by_torchrun() and stated_number("SLURM_STEP_NUM_TASKS", 1) > 1


def is_rank() -> bool:
    """Whether this process was started as one of a group."""
    return by_torchrun() or by_srun()


def rank() -> int:
    """This process's rank in its group; 0 without one. UserError if the group has no such rank."""
    number, size = _of_group("RANK", "SLURM_PROCID", 0), group_size()
    if number >= size:
        names = ("RANK", "WORLD_SIZE") if by_torchrun() else ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS")
        raise UserError(f"{names[0]}={number}: {names[1]}={size} has ranks 0 to {size - 1}; correct these variables")
    return number


def local_rank() -> int:
    """This process's rank on this host; 0 without a group."""
    return _of_group("LOCAL_RANK", "SLURM_LOCALID", 0)


def group_size() -> int:
    """The number of processes of this one's group; 1 without one."""
    return _of_group("WORLD_SIZE", "SLURM_STEP_NUM_TASKS", 1)


def _of_group(torchrun: str, slurm: str, default: int) -> int:
    return stated_number(torchrun if by_torchrun() else slurm, default) if is_rank() else default


def stated_number(variable: str, default: int) -> int:
    """The whole number in an environment variable of torchrun or Slurm; UserError if it is none."""
    value = os.environ.get(variable, str(default))
    if not re.fullmatch(r"[0-9]{1,9}", value):
        raise UserError(f"{variable}={value}: must be a whole number, as torchrun or srun set it; correct or unset it")
    return int(value)


def stated_devices(trainer: Mapping[str, Any]) -> int | list[int] | None:
    """The value of `trainer.devices`: a count, a list of indices, or None for "auto"."""
    devices = trainer.get("devices", 1)
    if isinstance(devices, str) and re.fullmatch(r"-?\d+", devices):
        devices = int(devices)
    if isinstance(devices, str) and re.fullmatch(r"\d+(\s*,\s*\d+)+,?|\d+,", devices):
        devices = [int(part) for part in devices.split(",") if part.strip()]
    if isinstance(devices, list) and _are_indices(devices):
        return devices
    if devices in ("auto", -1):
        return None
    if not isinstance(devices, int) or devices < 1:
        raise UserError(f"trainer.devices={devices}: state a number from 1, a list of different devices, or auto")
    return devices


def _are_indices(devices: list[Any]) -> bool:
    """Whether these are different numbers from 0, at least one."""
    are_numbers = all(type(each) is int and each >= 0 for each in devices)
    return bool(devices) and are_numbers and len(set(devices)) == len(devices)


def devices_per_node(trainer: Mapping[str, Any]) -> int:
    """The number of processes that `trainer.devices` asks for on one host."""
    devices = stated_devices(trainer)
    if devices is None:
        import torch

        on_gpu = trainer.get("accelerator") in ("auto", "gpu", "cuda")
        return max(1, torch.cuda.device_count() if on_gpu else 1)
    return len(devices) if isinstance(devices, list) else devices


def gpus_to_choose_from(trainer: Mapping[str, Any]) -> tuple[tuple[str, ...], int]:
    """The GPUs that a run may use, and how many of them it needs; UserError if there are fewer."""
    visible, stated = machine.gpus(), stated_devices(trainer)
    indices = sorted(stated) if isinstance(stated, list) else range(len(visible) if stated is None else stated)
    if not visible:
        raise UserError(
            f"trainer.accelerator={trainer.get('accelerator')}: this machine shows no GPU; take trainer=cpu"
        )
    if max(indices) >= len(visible):
        raise UserError(
            f"trainer.devices={trainer.get('devices')}: this machine shows {len(visible)} "
            f"GPU{'s' if len(visible) > 1 else ''} ({', '.join(visible)}); ask for what it has"
        )
    return tuple(visible[index] for index in indices) if isinstance(stated, list) else tuple(visible), len(indices)


def num_nodes(trainer: Mapping[str, Any]) -> int:
    """The number of hosts that `trainer.num_nodes` asks for."""
    return int(trainer.get("num_nodes") or 1)


def all_devices(trainer: Mapping[str, Any]) -> int:
    """The number of processes of a run, on all hosts."""
    return devices_per_node(trainer) * num_nodes(trainer)


def counted_devices(trainer: Mapping[str, Any], *, scheduler: str) -> int:
    """The stated number of devices of a node; UserError if `trainer.devices` is no number."""
    devices = stated_devices(trainer)
    if not isinstance(devices, int):
        stated = trainer.get("devices")
        raise UserError(f"trainer.devices={stated}: {scheduler} needs the number of devices of a node; state a number")
    return devices


def check_group_size(trainer: Mapping[str, Any]) -> None:
    """Check that this command can start the stated processes, or that torchrun or Slurm started as many."""
    devices, nodes = devices_per_node(trainer), num_nodes(trainer)
    stated = f"trainer.devices={trainer.get('devices')}"
    on_gpus = machine.works_on_gpus(trainer.get("accelerator"))
    if isinstance(stated_devices(trainer), list) and not on_gpus:
        raise UserError(f"{stated}: a list names GPUs; state the number of processes instead")
    if is_rank():
        if group_size() != devices * nodes:
            starter = "torchrun" if by_torchrun() else "srun"
            raise UserError(
                f"{stated} trainer.num_nodes={nodes}: {devices * nodes} processes, but {starter} started "
                f"{group_size()}: state as many devices as it starts processes on each host, and as many nodes as hosts"
            )
        return
    if nodes > 1:
        raise UserError(
            f"{stated} trainer.num_nodes={nodes}: this command starts processes on its own host alone: start it on "
            "each host by torchrun, or all of them by hydra/launcher=slurm (docs/distributed.md)"
        )
    if on_gpus:
        gpus_to_choose_from(trainer)
        return
    most = PROCESSES_PER_CORE * len(machine.cores())
    if devices > most:
        raise UserError(f"{stated}: a process each, and {len(machine.cores())} cores are here; state at most {most}")
