"""The paper's recipe of training and decoding, read from recipe.yaml into frozen types."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from aiayn.paper.cells import parse_yaml, read_yaml


@dataclass(frozen=True)
class Item:
    """A value that the paper states and the configuration has a key for."""

    key: str
    value: int | float | str
    section: str
    note: str | None = None


@dataclass(frozen=True)
class Statement:
    """A statement of the paper without a number."""

    subject: str
    says: str
    section: str


@dataclass(frozen=True)
class Corpus:
    """Pairs to train on, and their vocabulary."""

    name: str
    pairs: int
    """About so many."""
    section: str
    settings: Mapping[str, int | str]
    """By configuration key."""
    note: str | None = None


@dataclass(frozen=True)
class Split:
    """Sentences to score."""

    name: str
    sentences: int


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

    def training_flops(self, hours: float) -> float:
        """Floating-point operations of so many hours on all devices, as Table 2 estimates them."""
        return hours * 3600 * self.devices * self.sustained_flops[self.gpu]


@dataclass(frozen=True)
class Recipe:
    """Sections 5 and 6.1, and what of section 3 is a setting."""

    source: str
    settings: tuple[Item, ...]
    statements: tuple[Statement, ...]
    unmentioned: tuple[str, ...]
    """Settings of other recipes that the paper does not mention."""
    corpora: Mapping[str, Corpus]
    """By language pair."""
    splits: Mapping[str, Split]
    training: Mapping[str, Training]
    """base and big."""
    big_en_fr: Mapping[str, float]
    """Changes of the big model for English-French, by configuration key."""
    hardware: Hardware


@cache
def load_recipe() -> Recipe:
    """The recipe as the paper states it."""
    content = parse_yaml(read_yaml("recipe.yaml"))
    hardware = content["hardware"]
    return Recipe(
        source=content["source"],
        settings=tuple(Item(**item) for item in content["settings"]),
        statements=tuple(Statement(**statement) for statement in content["statements"]),
        unmentioned=tuple(content["unmentioned"]),
        corpora=MappingProxyType(
            {
                pair: Corpus(**{**corpus, "settings": MappingProxyType(corpus["settings"])})
                for pair, corpus in content["corpora"].items()
            }
        ),
        splits=MappingProxyType({name: Split(**split) for name, split in content["splits"].items()}),
        training=MappingProxyType({model: Training(**facts) for model, facts in content["training"].items()}),
        big_en_fr=MappingProxyType(content["big_en_fr"]),
        hardware=Hardware(**{**hardware, "sustained_flops": MappingProxyType(hardware["sustained_flops"])}),
    )
