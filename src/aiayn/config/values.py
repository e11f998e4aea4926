"""Ranges of the schema's values: each is declared with its type, and all are checked here."""

import dataclasses
import math
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeAlias, TypeVar, Union, get_args, get_origin, get_type_hints

from omegaconf import MISSING, BooleanNode, StringNode

from aiayn.errors import UserError
from aiayn.system.documents import NullIsInfinity
from aiayn.system.files import is_utf8
from aiayn.system.plugins import is_plugin

Stated = TypeVar("Stated")

LARGEST = 10**12
"""The largest whole number without a range of its own."""


@dataclass(frozen=True)
class Range:
    """The values that a number may have; bounds are inclusive unless they say otherwise."""

    least: Annotated[float, NullIsInfinity] = -math.inf
    """The least value, inclusive; infinite for none."""
    most: Annotated[float, NullIsInfinity] = math.inf
    """The largest value, inclusive; infinite for none."""
    above: Annotated[float, NullIsInfinity] = -math.inf
    """The lower bound, exclusive; infinite for none."""
    below: Annotated[float, NullIsInfinity] = math.inf
    """The upper bound, exclusive; infinite for none."""

    def expected(self, value: float) -> str | None:
        """The bound that a value breaks, as in "at least 1"; None if it is in range."""
        if not (self.least <= value < self.below):
            return f"at least {self.least:g}" + (f" and less than {self.below:g}" if self.below < math.inf else "")
        if value <= self.above:
            return f"greater than {self.above:g}"
        return f"at most {self.most}" if value > self.most else None


@dataclass(frozen=True)
class Name:
    """A text that is one of these names."""

    names: Iterable[str]

    def expected(self, value: str) -> str | None:
        """The values that a text may have; None if it is one."""
        return None if value in list(self.names) else f"choose from {', '.join(self.names)}"


@dataclass(frozen=True)
class NameOrClass(Name):
    """The same, or a class of the user's own (`aiayn.system.plugins`)."""

    def expected(self, value: str) -> str | None:
        """The values that a text may have; None if it is one."""
        names = None if is_plugin(value) else super().expected(value)
        return names and f"{names}, or name a class as in my_package.my_module:MyClass"


@dataclass(frozen=True)
class OneOrList:
    """One value of a kind, or a list of them: the type of a field is `Any`, since OmegaConf has none for it."""

    kind: type
    is_optional: bool = False
    """Whether null is allowed, too."""

    def expected(self, value: object) -> str | None:
        """The values that a key may have; None if this is one."""
        listed = value if isinstance(value, list) else [value]
        if (self.is_optional and value is None) or all(_is_of(each, self.kind) for each in listed):
            return None
        return f"{_in_words(self.kind)}, or a list of them{', or null' if self.is_optional else ''}"


ANY = Range(most=LARGEST)

WholeNumber: TypeAlias = Annotated[int, Range(0, LARGEST)]
Count: TypeAlias = Annotated[int, Range(1, LARGEST)]
Size: TypeAlias = Annotated[int, Range(1, 2**20)]
Entries: TypeAlias = Annotated[int, Range(most=2**20)]
Seed: TypeAlias = Annotated[int, Range(0, 2**63 - 1)]
Share: TypeAlias = Annotated[float, Range(0, below=1)]
NonNegative: TypeAlias = Annotated[float, Range(0)]
Positive: TypeAlias = Annotated[float, Range(above=0)]
MayBeEmpty: TypeAlias = Annotated[str, "may be empty"]
Texts: TypeAlias = Annotated[Any, OneOrList(str)]
TextsOrNull: TypeAlias = Annotated[Any, OneOrList(str, is_optional=True)]
WholeNumbers: TypeAlias = Annotated[Any, OneOrList(int)]
WholeNumbersOrNull: TypeAlias = Annotated[Any, OneOrList(int, is_optional=True)]
Numbers: TypeAlias = Annotated[Any, OneOrList(float)]


def true_or_false() -> Any:
    """The default of a schema's boolean: it has no value, and takes true and false alone.

    OmegaConf would convert numbers and texts: 3 would be true.
    """
    return field(default_factory=partial(BooleanNode, MISSING, is_optional=False, flags={"convert": False}))


def text() -> Any:
    """The default of a schema's text: it has no value, and takes texts alone.

    OmegaConf would convert other values: `no` of a file would be False, and 2026_11_28 would be 20261128.
    """
    return field(default_factory=partial(StringNode, MISSING, is_optional=False, flags={"convert": False}))


def text_or_null(default: str | None = MISSING) -> Any:
    """The same for a text that may be null, and may have a value that stands where none is stated."""
    return field(default_factory=partial(StringNode, default, is_optional=True, flags={"convert": False}))


def is_text(hint: Any) -> bool:
    """Whether a type of the schema, without alternatives, is text or a list of texts."""
    if get_origin(hint) is Annotated:
        plain, *metadata = get_args(hint)
        return plain is str or any(isinstance(each, OneOrList) and each.kind is str for each in metadata)
    return hint is str


def check_values(config: object, prefix: str = "") -> None:
    """Check every typed field of a schema's dataclass, but no plain dictionary; `prefix` is that of its keys.

    Raises:
        UserError: a number is out of its range or not finite, or a text is empty or has control characters.
    """
    hints = get_type_hints(type(config), include_extras=True)
    for name, value in vars(config).items():
        key = f"{prefix}{name}"
        if name not in hints:  # Hydra's +key=value adds keys that the schema does not have
            raise UserError(f"{key}: no such key; + adds keys to trainer, callbacks, logger and arguments alone")
        if dataclasses.is_dataclass(value):
            check_values(value, f"{key}.")
        elif several := _stated(hints[name], OneOrList):
            _check_several(key, value, hints[name], several[0])
        elif isinstance(value, str):
            _check_text(key, value, hints[name])
        elif isinstance(value, int | float) and not isinstance(value, bool):
            _check_number(key, value, hints[name])


def choices(hint: Any) -> list[str]:
    """The values that a type lists, as on the command line: names, true and false, null; of a free text none."""
    found = [str(name) for each in _stated(hint, Name) for name in each.names]
    for kind in alternatives(hint):
        if get_origin(kind) is Literal:
            found += [str(choice).lower() for choice in get_args(kind)]
        elif isinstance(kind, type) and issubclass(kind, Enum):
            found += [member.name for member in kind]
        elif kind is bool:
            found += ["true", "false"]
    is_optional = NoneType in alternatives(hint) or any(each.is_optional for each in _stated(hint, OneOrList))
    return [*found, *(["null"] if is_optional else [])]


def is_listed(hint: Any) -> bool:
    """Whether a type takes lists."""
    return bool(_stated(hint, OneOrList))


def _stated(hint: Any, kind: type[Stated]) -> list[Stated]:
    """What the alternatives of a type state of a kind of their metadata."""
    return [each for part in alternatives(hint) for each in getattr(part, "__metadata__", ()) if isinstance(each, kind)]


def _check_several(key: str, value: Any, hint: Any, several: OneOrList) -> None:
    expected = several.expected(value)
    if expected is not None:
        remedy = "; put it in quotes" if several.kind is str and isinstance(value, bool | int | float) else ""
        raise UserError(f"{key}={'null' if value is None else value}: must be {expected}{remedy}")
    for each in value if isinstance(value, list) else [value]:
        if isinstance(each, str):
            _check_text(key, each, hint)
        elif each is not None:
            _check_number(key, each, hint)


def _check_text(key: str, value: str, hint: Any) -> None:
    if not value.strip() and hint != MayBeEmpty:
        raise UserError(f"{key} has no value: state it, as in {key}=...")
    named = _stated(hint, Name)
    expected = named[0].expected(value) if named else None
    if expected is not None:
        raise UserError(f"{key}={value}: {expected}")
    if not is_utf8(value):
        raise UserError(f"{key}={value!r}: is not UTF-8; rename the file or folder")
    if value.startswith("~") and os.path.expanduser(value) == value:  # noqa: PTH111 (Path.expanduser() raises)
        raise UserError(f"{key}={value}: there is no home folder {value.split('/')[0]}; state the path in full")
    if not value.isprintable():
        raise UserError(f"{key}={value!r}: holds a line break or another control character; leave it out")


def check_value(key: str, value: object, hint: Any) -> None:
    """Check a value of a plain dictionary against a type as the schema has them, or a choice (`Literal`).

    Raises:
        UserError: naming the key, the value and what it must be.
    """
    either = alternatives(hint)
    if not any(_is_of(value, kind) for kind in either):
        raise UserError(f"{key}={'null' if value is None else value}: must be {' or '.join(map(_in_words, either))}")
    if isinstance(value, str):
        _check_text(key, value, hint)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        _check_number(key, value, hint)


def alternatives(hint: Any) -> tuple[Any, ...]:
    """The types of which a value has one."""
    return get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)


def _is_of(value: object, kind: Any) -> bool:
    if get_origin(kind) is Literal:
        return any(value == choice and type(value) is type(choice) for choice in get_args(kind))
    plain = get_args(kind)[0] if get_origin(kind) is Annotated else kind
    return type(value) is plain or (plain is float and type(value) is int)


def _in_words(kind: Any) -> str:
    if get_origin(kind) is Literal:
        return " or ".join(str(choice).lower() for choice in get_args(kind))
    words = {bool: "true or false", int: "a whole number", float: "a number", str: "text", NoneType: "null"}
    return words.get(get_args(kind)[0] if get_origin(kind) is Annotated else kind, "an object with its _target_")


def _check_number(key: str, value: float, hint: Any) -> None:
    if not math.isfinite(value):
        raise UserError(f"{key}={value}: must be a finite number")
    stated = _stated(hint, Range)
    expected = (stated[0] if stated else ANY).expected(value)
    if expected is not None:
        raise UserError(f"{key}={value}: must be {expected}{', or null' if NoneType in alternatives(hint) else ''}")
