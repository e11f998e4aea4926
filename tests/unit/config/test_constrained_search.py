"""A search is held to trees only where there are some, and room for them."""

import pytest

from aiayn.config.compose import compose_command
from aiayn.config.freeze import to_dataclass
from aiayn.config.schema import TrainConfig
from aiayn.config.validation import validate
from aiayn.errors import UserError

PARSING = ["data=toy_trees", "tokenizer=symbols"]


def validated(*overrides: str) -> TrainConfig:
    config = to_dataclass(compose_command("train", [*overrides, "decoding.constrained=true"]), TrainConfig)
    validate(config)
    return config


def test_trees_may_be_asked_for_where_data_are_trees() -> None:
    assert validated(*PARSING, "decoding.max_extra_length=2").decoding.constrained


def test_translations_are_no_trees() -> None:
    with pytest.raises(UserError, match=r"^decoding\.constrained=true: .*tokenizer\.kind=byte_pair"):
        validated()


def test_a_limit_leaves_room_for_brackets() -> None:
    with pytest.raises(UserError, match=r"^decoding\.max_extra_length=1: .*at least 2"):
        validated(*PARSING, "decoding.max_extra_length=1")
