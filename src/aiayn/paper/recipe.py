"""The paper's recipe of training and decoding, read from recipe.yaml into frozen types."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from aiayn.paper.cells import read_yaml


@dataclass(frozen=True)
class Item:
    """A value that the paper states and the configuration has a key for."""

    key: str
    value: int | float | str
    section: str
    note: str | None = None


@dataclass(frozen=True)
class Corpus:
    """Pairs to train on, and their vocabulary."""

    name: str
    pairs: int
    """Approximate."""
    section: str
    settings: Mapping[str, int | str]
    """By configuration key."""
    note: str | None = None


@dataclass(frozen=True)
class Training:
    """Training time of one of the two models (section 5.2), and checkpoints averaged for Table 2 (section 6.1)."""

    steps: int
    seconds_per_step: float
    """As stated, with one decimal."""
    hours: float
    averaged_checkpoints: int
    checkpoint_minutes: float | None
    """Time between two checkpoints; None: not stated."""


@dataclass(frozen=True)
class Hardware:
    """The GPUs of the training."""

    gpu: str
    devices: int
    sustained_flops: Mapping[str, float]
    """Single-precision FLOP/s by kind of GPU, as the costs of Table 2 assume them."""


@dataclass(frozen=True)
class Recipe:
    """Sections 5 and 6.1, and the settings of section 3."""

    source: str
    settings: tuple[Item, ...]
    corpora: Mapping[str, Corpus]
    """By language pair."""
    splits: Mapping[str, int]
    """Sentences of dev and test."""
    training: Mapping[str, Training]
    """base and big."""
    big_en_fr: Mapping[str, float]
    """Changes of the big model for English-French, by configuration key."""
    hardware: Hardware


@cache
def load_recipe() -> Recipe:
    """The recipe as the paper states it."""
    content: Mapping[str, Any] = read_yaml("recipe.yaml")
    parsed = {
        "settings": tuple(Item(**item) for item in content["settings"]),
        "corpora": {pair: Corpus(**corpus) for pair, corpus in content["corpora"].items()},
        "training": {model: Training(**facts) for model, facts in content["training"].items()},
        "hardware": Hardware(**content["hardware"]),
    }
    return Recipe(**{**content, **parsed})
