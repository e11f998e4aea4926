"""Every group and key of every command as plain data, for programs."""

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum
from types import NoneType, UnionType
from typing import Annotated, Any, ClassVar, Literal, Union, get_args, get_origin, get_type_hints

from aiayn.config import store
from aiayn.config.meanings import heading_comment, meanings
from aiayn.config.values import Name, NameOrClass, Range
from aiayn.reports.configuration import MISSING, OwnPart, Values, fields, open_keys, options_by_type, own_part
from aiayn.reports.content import Content
from aiayn.reports.formats import print_content

TypeName = Literal["integer", "number", "boolean", "text", "list", "any"]

TYPES: dict[Any, TypeName] = {int: "integer", float: "number", bool: "boolean", str: "text"}


@dataclass(frozen=True)
class GroupOption:
    """An option of a group."""

    option: str
    """The option."""
    meaning: str | None
    """What the option is."""


@dataclass(frozen=True)
class Group:
    """A group of a command."""

    group: str
    """The group, chosen by group=option."""
    meaning: str | None
    """What the group is for."""
    default: str | None
    """Option chosen by default; None for none."""
    options: tuple[GroupOption, ...]
    """The options."""


@dataclass(frozen=True)
class Key:
    """A key of a command."""

    key: str
    """The key, stated by key=value."""
    type: TypeName
    """The type of its values."""
    nullable: bool
    """Whether null is a value."""
    choices: tuple[str, ...] | None
    """The values; None: any of the type."""
    own_class: bool
    """Whether module:Class is a value, too."""
    range: Range | None
    """The range of a number; None: none stated."""
    required: bool
    """Whether the key has no default."""
    default: Any
    """The value at the default scale."""
    expression: str | None
    """The expression in conf/ that the value comes from."""
    meaning: str | None
    """What the key is."""
    only_with: tuple[str, ...] | None
    """The options that have the key; None: all."""


@dataclass(frozen=True)
class CommandKeys:
    """The groups and keys of a command."""

    verb: str
    """The verb."""
    meaning: str
    """What the command does."""
    takes: str | None
    """A verb whose groups and keys it takes, too."""
    groups: tuple[Group, ...]
    """The groups that it adds."""
    keys: tuple[Key, ...]
    """The keys that it adds."""


@dataclass(frozen=True)
class ConfigurationContent(Content):
    """Groups and keys of every command: aiayn report configuration."""

    schema: ClassVar = "configuration/1"

    commands: tuple[CommandKeys, ...]
    """The commands."""


def print_configuration() -> None:
    """Print the commands with their groups and keys; they depend on the schema and conf/ alone."""
    print_content(ConfigurationContent(tuple(map(_command, store.COMMANDS))))


def _command(verb: str) -> CommandKeys:
    values = Values(verb)
    part = own_part(verb, values)
    purpose = heading_comment(store.conf_directory() / f"{verb}.yaml").partition(": ")[2]
    explained = meanings(part.kind)
    groups = tuple(
        Group(
            group=group,
            meaning=explained.get(group),
            default=None if option in (None, "null") else option,
            options=tuple(
                GroupOption(name, heading_comment(store.group_directory(group) / f"{name}.yaml") or None)
                for name in store.options(group)
            ),
        )
        for group, option in part.chosen.items()
    )
    return CommandKeys(verb, purpose, part.base, groups, tuple(_keys(verb, part, values)))


def _keys(verb: str, part: OwnPart, values: Values) -> Iterator[Key]:
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


def _kinds(verb: str, group: str, kind: type) -> Iterator[Key]:
    """The keys that only some options of a group have."""
    if not kind.__subclasses__():
        return
    shared, found = get_type_hints(kind), dict[str, Key]()
    for own, options in options_by_type(verb, group).items():
        first, *_ = options.values()
        words = [f"{group}={option}" for option in options]
        for key, *field in fields(own, group, without=shared):
            of_key = found.get(key) or _key(first, key, *field)
            found[key] = replace(of_key, only_with=tuple(sorted([*(of_key.only_with or ()), *words])))
    yield from found.values()


def _key(values: Values, key: str, hint: Any, meaning: str) -> Key:
    default, expression = values.of(key)
    parts = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    own = next((each for each in parts if each is not NoneType), Any)
    kind = get_args(own)[0] if get_origin(own) is Annotated else own
    metadata = getattr(own, "__metadata__", ())
    choices = next((tuple(map(str, each.names)) for each in metadata if isinstance(each, Name)), None)
    if isinstance(kind, type) and issubclass(kind, Enum):
        choices = tuple(member.name for member in kind)
    named: TypeName = TYPES.get(kind, "text" if choices else "any")
    return Key(
        key=key,
        type="list" if get_origin(kind) in (list, tuple) else named,
        nullable=NoneType in parts,
        choices=choices,
        own_class=any(isinstance(each, NameOrClass) for each in metadata),
        range=next((each for each in metadata if isinstance(each, Range)), None),
        required=default == MISSING,
        default=None if default == MISSING else default,
        expression=expression,
        meaning=meaning or None,
        only_with=None,
    )
