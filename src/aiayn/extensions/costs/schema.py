"""The schema of `aiayn plan` and `aiayn inspect`."""

from dataclasses import dataclass
from typing import Any

from omegaconf import MISSING

from aiayn.config.schema import HardwareConfig, TrainConfig
from aiayn.config.values import Count, text_or_null, true_or_false


@dataclass
class PlanConfig(TrainConfig):
    """`aiayn plan`."""

    data: Any = MISSING  # OmegaConf would make the corpus chosen before a plain DataConfig again
    """The corpus."""
    model: Any = MISSING  # as for data
    """The architecture."""
    tokenizer: Any = MISSING  # as for data
    """The vocabulary."""
    hardware: HardwareConfig = MISSING
    """The devices of the plan."""


@dataclass
class InspectConfig(TrainConfig):
    """`aiayn inspect`."""

    data: Any = MISSING  # as for a plan
    """The corpus."""
    model: Any = MISSING  # as for data
    """The architecture."""
    tokenizer: Any = MISSING  # as for data
    """The vocabulary."""
    depth: Count | None = MISSING
    """Levels of the tree below the model; null: all."""
    folded: bool = true_or_false()
    """Show equal layers that follow each other as one, with figures of each."""
    output: str | None = text_or_null()
    """A .md or .json file to write; null: to the terminal."""
