"""How many processes a run needs, and whether this one already is one of them."""

import os
from collections.abc import Mapping
from typing import Any

from aiayn.config.devices import stated_devices

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


def is_rank() -> bool:
    """Whether torchrun, or Slurm with several tasks, started this process as one of a group."""
    return "TORCHELASTIC_RUN_ID" in os.environ or int(os.environ.get("SLURM_NTASKS", "1")) > 1


def rank() -> int:
    """This process's number in its group; 0 without one."""
    return int(os.environ.get("RANK", os.environ.get("SLURM_PROCID", "0"))) if is_rank() else 0


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


def world_size(trainer: Mapping[str, Any]) -> int:
    """Processes of the whole group."""
    if is_rank():
        return int(os.environ.get("WORLD_SIZE", os.environ.get("SLURM_NTASKS", "1")))
    return devices_per_node(trainer) * int(trainer.get("num_nodes") or 1)
