"""Values of Python as words of a command line, and checks of their types."""

import json
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any

import numpy as np

from aiayn.errors import UserError


def word(key: str, value: object) -> str:
    """Return `key=value` in Hydra's notation, quoted, so that any text can be a value.

    Raises:
        UserError: the value is none of a configuration.
    """
    try:
        return f"{key}={json.dumps(value, ensure_ascii=False, default=_item)}"
    except (TypeError, ValueError):
        kinds = "a text, a number, true or false, None, or a list or dictionary of them"
        raise UserError(f"{key}={value!r}: must be {kinds}") from None


def _item(value: object) -> object:
    """Return the value of a NumPy scalar; TypeError for anything else."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError


def words(group: str, values: Mapping[str, Any] | None) -> list[str]:
    """Return `group.key=value` for each value; UserError if they are no mapping."""
    if values is not None and not isinstance(values, Mapping):
        raise UserError(f"{group}={values!r}: must be a dictionary, as in {{'beam_size': 8}} or {{'scale': 'nano'}}")
    return [word(f"{group}.{key}", value) for key, value in (values or {}).items()]


def texts(values: object, name: str, *, example: str) -> list[str]:
    """Return a list of texts; UserError if it is another kind of value, or holds one."""
    if isinstance(values, str) or not isinstance(values, Sequence):
        raise UserError(f"{name}={values!r}: must be a list, as in {example}")
    for value in values:
        if not isinstance(value, str):
            raise UserError(f"{name}: {value!r} is no text; state a list as in {example}")
    return [text(value, f"{name}[{place}]") for place, value in enumerate(values)]


def text(value: object, name: str) -> str:
    """Return a text; UserError for another kind of value."""
    if not isinstance(value, str):
        raise UserError(f"{name}={value!r}: must be a text")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise UserError(f"{name}={value!r}: has half a character at {error.start}, {value[error.start]!r}") from None
    return value


def folder(value: object, name: str) -> "str | PathLike[str]":
    """Return a path; UserError for another kind of value."""
    if not isinstance(value, str | PathLike):
        raise UserError(f"{name}={value!r}: must be the path of a folder")
    return value
