"""Models from their configuration, and the device of a process."""

from typing import Any

import torch

from aiayn.builders.architecture import architecture_of, embedding_rows
from aiayn.config.schema import TrainConfig
from aiayn.config.trust import check_sources
from aiayn.errors import UserError
from aiayn.models.construction import create_model
from aiayn.models.translation_model import TranslationModel
from aiayn.system import processes
from aiayn.system.processes import stated_devices


def build_model(config: TrainConfig, *, vocabulary_size: int) -> TranslationModel[Any]:
    """The model with weights initialised from `seed`, for a vocabulary of this many entries.

    Raises:
        UserError: code of the user's own is missing, or differs from that with which the run began.
    """
    check_sources(config)
    rows = embedding_rows(config.model, vocabulary_size=vocabulary_size)
    torch.manual_seed(config.seed)
    return create_model(architecture_of(config.model), rows=rows)


def device_of(config: TrainConfig, *, local_rank: int = 0) -> torch.device:
    """The device of one process of a run, the `local_rank`-th on its host; UserError without its GPU."""
    if config.trainer.get("accelerator") not in ("auto", "gpu", "cuda") or not torch.cuda.is_available():
        return torch.device("cpu")
    devices = stated_devices(config.trainer)
    index, count = devices[local_rank] if isinstance(devices, list) else local_rank, torch.cuda.device_count()
    if index >= count:
        if processes.group_size() > 1:
            raise UserError(
                f"trainer.devices={config.trainer.get('devices')}: torch finds {count} GPU{'s' if count > 1 else ''} "
                "here; lower trainer.devices"
            )
        index = 0  # of a run that is evaluated on a machine with fewer
    return torch.device("cuda", index)
