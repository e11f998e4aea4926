"""Values that make no sense for any key: text without a character, numbers that are not finite or beyond all use."""

import dataclasses
import math
from collections.abc import Iterator
from typing import Any

from omegaconf import IntegerNode

from aiayn.errors import UserError

LARGEST = 10**12
"""Of a whole number, but for seeds: more steps, tokens or sentences than any run has."""

LARGEST_SEED = 2**63 - 1
"""Of a seed: a signed integer of 64 bits."""


MAY_BE_EMPTY = frozenset({"identity.difference", "identity.title"})
"""Keys of text for which no character is a value: what no command with such a key states."""


def check_values(config: object) -> None:
    """Refuse a value that no key of its type can mean.

    Args:
        config: a dataclass of the schema. What it holds in plain dictionaries is judged by those who read it.

    Raises:
        UserError: naming the key, the value and what is allowed.
    """
    for key, value in _fields(config, ""):
        if isinstance(value, str):
            _check_text(key, value)
        elif isinstance(value, float) and not math.isfinite(value):
            raise UserError(f"{key}={value}: must be a finite number")
        elif isinstance(value, int) and not isinstance(value, bool):
            largest = LARGEST_SEED if key.rpartition(".")[2] == "seed" else LARGEST
            if value > largest:
                raise UserError(f"{key}={value}: must be at most {largest}")


def _check_text(key: str, value: str) -> None:
    if not value.strip() and key not in MAY_BE_EMPTY:
        raise UserError(f"{key} has no value: state it, as in {key}=...")
    if not value.isprintable():
        raise UserError(f"{key}={value!r}: holds a line break or another control character; leave it out")


def _fields(node: object, prefix: str) -> Iterator[tuple[str, object]]:
    assert dataclasses.is_dataclass(node)
    for field in dataclasses.fields(node):
        value, key = getattr(node, field.name), f"{prefix}{field.name}"
        if dataclasses.is_dataclass(value):
            yield from _fields(value, f"{key}.")
        else:
            yield key, value


def whole(value: Any) -> Any:
    """A number without a fraction as an integer; everything else as it is.

    For keys without a type, too: `last`, `steps` and the like, which take a number or something else.
    """
    return int(value) if isinstance(value, float) and value.is_integer() else value


def accept_whole_floats() -> None:
    """Let a key that counts take a number such as 1e3, which YAML reads as 1000.0; 1.5 stays refused.

    To be called once: what OmegaConf does with an integer's value is wrapped.
    """
    convert = IntegerNode.validate_and_convert

    def convert_whole(node: IntegerNode, value: object) -> object:
        return convert(node, whole(value))

    IntegerNode.validate_and_convert = convert_whole  # type: ignore[assignment, method-assign]
