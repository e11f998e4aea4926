"""Every group and key of every command as plain data, for programs."""

import dataclasses
import math
from collections.abc import Iterator
from enum import Enum
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

from aiayn.config import store
from aiayn.config.meanings import heading_comment, meanings
from aiayn.config.values import Name, NameOrClass, Range
from aiayn.reports.configuration import MISSING, OwnPart, Values, fields, open_keys, options_by_type, own_part
from aiayn.reports.formats import print_json

TYPES: dict[Any, str] = {int: "integer", float: "number", bool: "boolean", str: "text"}


def print_configuration() -> None:
    """Print the document."""
    print_json("configuration/1", configuration_content())


def configuration_content() -> dict[str, Any]:
    """The commands with their groups and keys; it depends on the schema and conf/ alone."""
    return {"commands": [_command(verb) for verb in store.COMMANDS]}


def _command(verb: str) -> dict[str, Any]:
    values = Values(verb)
    part = own_part(verb, values)
    purpose = heading_comment(store.conf_directory() / f"{verb}.yaml").partition(": ")[2]
    explained = meanings(part.kind)
    groups = [
        {
            "group": group,
            "meaning": explained.get(group),
            "default": None if option in (None, "null") else option,
            "options": [
                {"option": name, "meaning": heading_comment(store.group_directory(group) / f"{name}.yaml") or None}
                for name in store.options(group)
            ],
        }
        for group, option in part.chosen.items()
    ]
    return {
        "verb": verb,
        "meaning": purpose,
        "takes": part.base,
        "groups": groups,
        "keys": list(_keys(verb, part, values)),
    }


def _keys(verb: str, part: OwnPart, values: Values) -> Iterator[dict[str, Any]]:
    explained = meanings(part.kind)
    for name, hint in part.hints.items():
        if name in part.inherited:
            continue
        if get_origin(hint) is dict:
            for key, comment in open_keys(values, name, part.chosen.get(name)):
                yield _key(values, key, Any, comment)
        elif dataclasses.is_dataclass(hint) and isinstance(hint, type):
            yield from (_key(values, *field) for field in fields(hint, name))
            if name in part.chosen:
                yield from _kinds(verb, name, hint)
        else:
            yield _key(values, name, hint, explained[name])


def _kinds(verb: str, group: str, kind: type) -> Iterator[dict[str, Any]]:
    """The keys that only some options of a group have."""
    if not kind.__subclasses__():
        return
    shared, found = get_type_hints(kind), dict[str, dict[str, Any]]()
    for own, options in options_by_type(verb, group).items():
        first, *_ = options.values()
        words = [f"{group}={option}" for option in options]
        for key, *field in fields(own, group, without=shared):
            of_key = found.setdefault(key, _key(first, key, *field) | {"only_with": []})
            of_key["only_with"] = sorted([*of_key["only_with"], *words])
    yield from found.values()


def _key(values: Values, key: str, hint: Any, meaning: str) -> dict[str, Any]:
    default, expression = values.of(key)
    is_required = default == MISSING
    return {
        "key": key,
        **plain_type(hint),
        "required": is_required,
        "default": None if is_required else default,
        "expression": expression,
        "meaning": meaning or None,
        "only_with": None,
    }


def plain_type(hint: Any) -> dict[str, Any]:
    """A type: its name, whether it may be null, its choices, and its range."""
    parts = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    own = next((each for each in parts if each is not NoneType), Any)
    bounds, names, metadata = None, None, getattr(own, "__metadata__", ())
    for each in metadata:
        if isinstance(each, Range):
            bounds = {name: bound if math.isfinite(bound) else None for name, bound in vars(each).items()}
        if isinstance(each, Name):
            names = [str(name) for name in each.names]
    plain = get_args(own)[0] if get_origin(own) is Annotated else own
    if isinstance(plain, type) and issubclass(plain, Enum):
        names = [member.name for member in plain]
    name = "list" if get_origin(plain) in (list, tuple) else TYPES.get(plain, "text" if names else "any")
    has_class = any(isinstance(each, NameOrClass) for each in metadata)
    return {"type": name, "nullable": NoneType in parts, "choices": names, "own_class": has_class, "range": bounds}
