"""What a checkpoint must hold: a file may have been edited, or be another program's."""

import math
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from aiayn.training.lightning_internals import TRAINING_STATE

KERNELS = ("foreign", "fused")
"""Settings of an optimizer that choose how it computes; torch's default has changed with its versions."""

RATES = ("initial_lr", "lr")
"""Settings of an optimizer that the schedule changes."""


def checked_content(content: object, *, has_data: bool = True) -> dict[str, Any]:
    """The content of a file, if it is a checkpoint: weights, their step and origin; ValueError says what is wrong.

    `has_data`: it was not read onto the meta device, where no tensor has numbers.
    """
    _require(isinstance(content, dict), "it holds no mapping")
    assert isinstance(content, dict)
    for part in ("aiayn", "state_dict"):
        _require(isinstance(content.get(part), dict), f"{part} is no mapping")
    for name, weight in content["state_dict"].items():
        _require(
            isinstance(name, str) and _is_dense(weight, has_data=has_data), f"state_dict.{name} is no tensor of numbers"
        )
    step, own = content.get("global_step"), content["aiayn"]
    _require(type(step) is int and step >= 0, "global_step is no number of steps")
    provenance, averaged = own.setdefault("provenance", {}), own.get("averaged_steps", [])
    are_texts = isinstance(provenance, dict) and all(isinstance(each, str | None) for each in provenance.values())
    _require(are_texts, "aiayn.provenance is no mapping of texts")
    are_steps = isinstance(averaged, list) and all(type(each) is int for each in averaged)
    _require(are_steps, "aiayn.averaged_steps is no list of steps")
    return content


def has_training_state(content: Mapping[str, Any]) -> bool:
    """Whether training can resume from a checkpoint; others hold weights alone."""
    return all(part in content for part in TRAINING_STATE) and {"progress", "window"} <= content["aiayn"].keys()


def check_fit(model: torch.nn.Module, weights: Mapping[str, Tensor]) -> None:
    """ValueError if weights are not those of a model: by names, shapes, or integers in place of fractions."""
    own = model.state_dict()
    for name in sorted(own.keys() ^ weights.keys()):
        raise ValueError(f"it {'lacks' if name in own else 'has another weight,'} {name}")
    for name, weight in weights.items():
        if weight.shape != own[name].shape:
            raise ValueError(f"{name} is {list(weight.shape)}, and the model's {list(own[name].shape)}")
        if weight.is_floating_point() != own[name].is_floating_point():
            raise ValueError(f"{name} is of {weight.dtype}, and the model's of {own[name].dtype}")


def check_optimizer_state(optimizer: torch.optim.Adam, state: Mapping[str, Any]) -> None:
    """ValueError if a state of Adam is not one of an optimizer, which is new: of other settings, or other moments.

    What a state may lack is what torch adds: flags that its earlier versions had not, and moments of parameters that
    had no gradient yet. The number of groups, and of their parameters, is left to torch.
    """
    (own,) = optimizer.state_dict()["param_groups"]
    for group in state["param_groups"]:
        for name, value in own.items():
            found = group.get(name, value if isinstance(value, bool) else None)
            if name != "params" and not _is_setting(name, found, value):
                raise ValueError(f"the optimizer's setting {name} is not that of the configuration")
    for number, parameter in enumerate(optimizer.param_groups[0]["params"]):
        if not (moments := state["state"].get(number)):
            continue
        for name, shape in (("step", ()), ("exp_avg", parameter.shape), ("exp_avg_sq", parameter.shape)):
            moment = moments.get(name)
            if not (_is_dense(moment, has_data=True) and moment.is_floating_point()) or moment.shape != shape:
                raise ValueError(f"the optimizer's {name} of parameter {number} is no tensor of fractions {[*shape]}")


def _is_setting(name: str, found: object, own: object) -> bool:
    if name in KERNELS:
        return isinstance(found, bool | None)
    if name in RATES:
        return isinstance(found, float) and math.isfinite(found)
    are_plain = all(isinstance(each, int | float | None) for each in (found if isinstance(found, tuple) else (found,)))
    return are_plain and found == own  # a tensor cannot be compared like this


def _is_dense(value: object, *, has_data: bool) -> bool:
    if not isinstance(value, Tensor) or (has_data and value.is_meta):
        return False
    return value.layout is torch.strided and not value.is_quantized


def _require(holds: bool, otherwise: str) -> None:
    if not holds:
        raise ValueError(otherwise)
