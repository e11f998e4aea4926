"""Configurations that share compositions: groups are composed once, values are set in a copy."""

import copy
from functools import cache
from typing import Any

from hydra.core.override_parser.overrides_parser import OverridesParser
from omegaconf import DictConfig, OmegaConf

from aiayn.config.compose import compose_command
from aiayn.config.freeze import plain, to_dataclass
from aiayn.config.identity import configuration_hash
from aiayn.config.schema import TrainConfig
from aiayn.config.validation import validate


@cache
def resolved(*groups: str) -> DictConfig:
    composed = compose_command("train", groups)
    OmegaConf.resolve(composed)
    return composed


def settled(*words: str) -> DictConfig:
    """The resolved configuration of `aiayn train`; values that are derived from those in `words` do not follow."""
    overrides = [OverridesParser.create().parse_override(word) for word in words]
    composed = copy.deepcopy(resolved(*(each.input_line for each in overrides if "." not in each.key_or_group)))
    for each in overrides:
        if "." in each.key_or_group:
            OmegaConf.update(composed, each.key_or_group, each.value(), force_add=True)
    return composed


def validated(*words: str) -> TrainConfig:
    """The same as a dataclass that passed every check."""
    config = to_dataclass(settled(*words), TrainConfig)
    validate(config)
    return config


@cache
def composed(*words: str) -> TrainConfig:
    """The configuration of a command line, which tests only read: composing takes most of their time."""
    return to_dataclass(compose_command("train", words), TrainConfig)


def run_hash(*words: str) -> str:
    """The identity of the run."""
    content: dict[str, Any] = plain(to_dataclass(settled(*words), TrainConfig))
    return configuration_hash(content, fidelity="paper")
