"""What a checkpoint must hold: a file may have been edited, or be another program's."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

TRAINING_STATE = ("optimizer_states", "lr_schedulers", "callbacks", "loops", "pytorch-lightning_version")
"""Keys that Lightning needs in order to resume; `save_weights_only=true` leaves the first three out."""


def checked_content(content: object) -> dict[str, Any]:
    """The content of a file, if it is a checkpoint: weights, their step and origin; ValueError says what is wrong."""
    _require(isinstance(content, dict), "it holds no mapping")
    assert isinstance(content, dict)
    for part in ("aiayn", "state_dict"):
        _require(isinstance(content.get(part), dict), f"{part} is no mapping")
    for name, weight in content["state_dict"].items():
        is_dense = isinstance(weight, Tensor) and weight.layout is torch.strided and not weight.is_quantized
        _require(isinstance(name, str) and is_dense, f"state_dict.{name} is no tensor of numbers")
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


def check_optimizer_state(parameters: list[Tensor], states: Mapping[int, Mapping[str, Any]]) -> None:
    """ValueError if the moments of Adam, by number of the parameter, have other shapes than their parameters."""
    for number, parameter in enumerate(parameters):
        for name in ("exp_avg", "exp_avg_sq"):
            moment = states.get(number, {}).get(name, parameter)
            if not isinstance(moment, Tensor) or moment.shape != parameter.shape:
                raise ValueError(f"the optimizer's {name} of parameter {number} has another shape")


def _require(holds: bool, otherwise: str) -> None:
    if not holds:
        raise ValueError(otherwise)
