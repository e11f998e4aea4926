"""The device of each process of a run; a group that lacks a GPU is refused in one line."""

import pytest
import torch
from composed_once import validated

from aiayn.builders.models import device_of
from aiayn.errors import UserError
from aiayn.system.processes import GROUP_VARIABLES


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*GROUP_VARIABLES, "SLURM_STEP_NUM_TASKS"):
        monkeypatch.delenv(name, raising=False)


def show_gpus(patch: pytest.MonkeyPatch, count: int) -> None:
    """Let torch find so many GPUs."""
    patch.setattr(torch.cuda, "is_available", lambda: True)
    patch.setattr(torch.cuda, "device_count", lambda: count)


def form_group(patch: pytest.MonkeyPatch, size: int) -> None:
    """Let this process be one of a group of torchrun's."""
    for name, value in (("TORCHELASTIC_RUN_ID", "none"), ("WORLD_SIZE", str(size))):
        patch.setenv(name, value)


@pytest.mark.parametrize(("count", "found"), [(1, "1 GPU"), (2, "2 GPUs")])
@pytest.mark.parametrize("devices", [4, [0, 5, 1, 3]])
def test_too_few_gpus_are_refused_in_one_line(
    monkeypatch: pytest.MonkeyPatch, devices: int | list[int], count: int, found: str
) -> None:
    show_gpus(monkeypatch, count)
    form_group(monkeypatch, 4)
    config = validated("trainer.accelerator=gpu")
    config.trainer["devices"] = devices
    assert device_of(config) == torch.device("cuda", 0)
    with pytest.raises(UserError) as refusal:
        device_of(config, local_rank=3)
    assert str(refusal.value) == f"trainer.devices={devices}: torch finds {found} here; lower trainer.devices"


def test_a_single_process_takes_the_first_gpu_for_one_that_is_not_here(monkeypatch: pytest.MonkeyPatch) -> None:
    show_gpus(monkeypatch, 2)
    config = validated("trainer.accelerator=gpu")
    for devices, index in (([1], 1), ([5], 0)):
        config.trainer["devices"] = devices
        assert device_of(config) == torch.device("cuda", index)
    assert device_of(validated("trainer.accelerator=cpu")) == torch.device("cpu")
