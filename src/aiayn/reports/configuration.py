"""Every key of every command: types and meanings from the schema, values and comments from conf/."""

import dataclasses
import inspect
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import takewhile
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

import yaml
from hydra.core.hydra_config import HydraConfig
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from aiayn.config import store
from aiayn.config.compose import compose_command
from aiayn.config.identity import flatten
from aiayn.config.meanings import heading_comment, meanings
from aiayn.config.resolvers import RESOLVERS
from aiayn.config.sweep_schema import LAUNCHERS, SWEEPERS
from aiayn.config.values import Name, NameOrClass, OneOrList
from aiayn.registry import added_sweepers
from aiayn.reports.formats import console, markdown_table, print_grid
from aiayn.reports.grid import Grid
from aiayn.system import files

MISSING = "???"

WORDS: dict[Any, str] = {int: "integer", float: "number", bool: "`true` or `false`", str: "text", NoneType: "`null`"}
"""The page's words for types."""

ENVIRONMENT = re.compile(r"\$\{oc\.env:\w+,((?:[^{}]|\$\{[^{}]*\})*)\}")
"""An environment variable, of which the page shows the default."""

SUMMARY = """\
aiayn <verb> --help explains a verb's groups and lists its values.
aiayn report configuration output=configuration.md writes every key with its type, default and meaning;
format=json prints them for programs. At the default scale, these are the groups:
"""

INTRODUCTION = """\
# Configuration

The groups, keys and defaults of every command with keys of its own: all but `aiayn reproduce`, which takes those of
others. Of Hydra's own groups, `hydra/launcher` and `hydra/sweeper` are listed, with the keys that this project adds.
Written by `aiayn report configuration` from the schema in `src/aiayn/config/*schema.py`, the values in `conf/` and the
comments there.

A group is chosen by `group=option` and a value stated by `key=value`: `aiayn train scale=nano model.num_heads=4`.
Defaults are shown as they come out at `scale=demo`, which is the default scale; where a file under `conf/` states an
expression, it stands beside its value. A value marked *required* has none and must be stated.
"""

EXPRESSIONS = """\
Expressions reach other values: `${model.d_model}` by a key's full name, `${.d_model}` by a neighbour's;
`${oc.env:NAME,value}` is an environment variable, or the value where it is not set. The rest are this project's own:
"""

REPRODUCE = """\
Runs the sweep of `table2`, `table3` or `table4`, and then its report. It takes the groups and values of
[aiayn train](#aiayn-train), and of [aiayn report](#aiayn-report) `output`, `only.data`
and `only.like` (for `table3`).
"""


Row = tuple[str, str, str, str, str]
"""A key, its type, its default, the expression in conf/, its meaning."""


def report_configuration(output: Path | None) -> None:
    """Print the page, on a terminal a summary; or write it."""
    page = configuration_page()
    if output is None:
        terminal = console()
        if terminal.is_terminal:
            terminal.print(SUMMARY)
            print_grid(_summary(), terminal)
        else:
            print(page, end="")  # noqa: T201
        return
    files.write_text(output, page)
    print(output)  # noqa: T201


def _summary() -> Grid:
    """The groups of each command, in lines."""
    lines = []
    for verb in store.COMMANDS:
        part = own_part(verb, Values(verb))
        groups = ", ".join(group for group in part.chosen if len(store.options(group)) > 1)
        lines.append((verb, f"as {part.base}{', and: ' if groups else ''}{groups}" if part.base else groups))
    return Grid("", ("<aiayn", "<groups"), (tuple(lines),))


def configuration_page() -> str:
    """The whole page in Markdown; it depends on the schema and conf/ alone."""
    commands = {verb: _sections(verb) for verb in store.COMMANDS}
    contents = [
        f"- [aiayn {verb}](#aiayn-{verb}){': ' if len(sections) > 1 else ''}"
        + ", ".join(f"[{group}](#{verb}-{group})" for group in sections if group)
        for verb, sections in commands.items()
    ]
    contents += [
        "- [aiayn reproduce](#aiayn-reproduce)",
        "- [hydra/launcher](#hydralauncher), [hydra/sweeper](#hydrasweeper): sweeps",
    ]
    resolvers = [(f"`${{{each.__name__}:...}}`", (inspect.getdoc(each) or "").split("\n")[0]) for each in RESOLVERS]
    parts = [INTRODUCTION, "\n".join(contents), EXPRESSIONS, _table(("expression", "value"), resolvers)]
    for verb, sections in commands.items():
        purpose = heading_comment(store.conf_directory() / f"{verb}.yaml").partition(": ")[2]
        parts += [f"## aiayn {verb}", _prose(purpose[:1].upper() + purpose[1:])]
        for group, paragraphs in sections.items():
            parts += [f"### {verb}: {group}" if group else "", *paragraphs]
    parts += ["## aiayn reproduce", REPRODUCE, "## hydra/launcher", *_launchers(), "## hydra/sweeper", *_sweepers()]
    return "\n\n".join(part.strip() for part in parts if part) + "\n"


@dataclass(frozen=True)
class OwnPart:
    """The part of a command's configuration that no earlier command has."""

    kind: type
    """The command's schema."""
    base: str | None
    """The earlier command whose groups and values it takes, too."""
    hints: Mapping[str, Any]
    """The types of its fields."""
    inherited: Collection[str]
    """The fields of `base`."""
    chosen: Mapping[str, str]
    """The option chosen of each group."""


def own_part(verb: str, values: "Values") -> OwnPart:
    """The part of a command of its own, with the values of the command."""
    kind, chosen = store.COMMANDS[verb], values.chosen
    hints = get_type_hints(kind, include_extras=True)
    earlier = takewhile(lambda each: each != verb, store.COMMANDS)
    base = next((each for each in earlier if issubclass(kind, store.COMMANDS[each])), None)
    if base is None:
        return OwnPart(kind, None, hints, (), chosen)
    inherited = {*get_type_hints(store.COMMANDS[base])}
    own = {group: option for group, option in chosen.items() if group in hints.keys() - inherited}
    return OwnPart(kind, base, hints, inherited, own)


class Values:
    """The values of a composed configuration, independent of this machine's environment."""

    def __init__(self, verb: str, *overrides: str) -> None:
        self.root = compose_command(verb, list(overrides))
        choices = {
            # Hydra 1.4 moves an option's folder into its group.
            re.split("[@/]", group)[0]: store.ALIASES.get(option, option)
            for group, option in HydraConfig.get().runtime.choices.items()
            if not group.startswith("hydra/")
        }
        self.chosen = dict(reversed(choices.items()))
        content: Any = OmegaConf.to_container(self.root, resolve=False, enum_to_str=True)
        self.stated = flatten(content)
        text = yaml.safe_dump(content, width=10_000, sort_keys=False)
        self._resolvable = OmegaConf.create(ENVIRONMENT.sub(r"\1", text).replace("${run_hash:}", "<hash>"))

    def row(self, key: str, type_name: str, meaning: str) -> Row:
        """A key with its value, and the expression that the value comes from or an empty text."""
        value, expression = self.of(key)
        return f"`{key}`", type_name, _code(value), f"`{expression}`" if expression else "", _prose(meaning)

    def of(self, key: str) -> tuple[Any, str | None]:
        """The value of a key, `MISSING` for none, and the expression that it comes from."""
        stated = self.stated[key]
        if not isinstance(stated, str) or "${" not in stated:
            return stated, None
        try:
            value = OmegaConf.select(self._resolvable, key, throw_on_missing=True)
        except OmegaConfBaseException:
            value = MISSING
        return OmegaConf.to_container(value) if OmegaConf.is_config(value) else value, stated

    def rows(self, kind: type, prefix: str, *, without: Collection[str] = ()) -> Iterator[Row]:
        """The keys of a dataclass and of those inside it."""
        return (self.row(key, _type(hint), meaning) for key, hint, meaning in fields(kind, prefix, without=without))


def fields(kind: type, prefix: str, *, without: Collection[str] = ()) -> Iterator[tuple[str, Any, str]]:
    """Key, type and meaning of each field of a dataclass, and of those inside it."""
    explained = meanings(kind)
    for name, hint in get_type_hints(kind, include_extras=True).items():
        key = f"{prefix}.{name}".removeprefix(".")
        if name in without:
            continue
        if dataclasses.is_dataclass(hint) and isinstance(hint, type):
            yield from fields(hint, key)
        else:
            yield key, hint, explained[name]


def open_keys(values: Values, group: str, chosen: str | None) -> Iterator[tuple[str, str]]:
    """Key and comment of each value of a group whose values go to a third party."""
    comments = {} if chosen is None else comments_of(store.conf_directory() / group / f"{chosen}.yaml")
    for key in values.stated:
        if key.startswith(f"{group}."):
            yield key, comments.get(key.removeprefix(f"{group}."), "")


def options_by_type(verb: str, group: str) -> dict[type, dict[str, Values]]:
    """The options of a group with their composed values, by the dataclass of each."""
    found: defaultdict[type, dict[str, Values]] = defaultdict(dict)
    for option in store.options(group):
        composed = Values(verb, f"{group}={option}")
        own = OmegaConf.get_type(composed.root, group)
        assert own is not None
        found[own][option] = composed
    return found


def _sections(verb: str) -> dict[str, list[str]]:
    """The paragraphs of a command by group; those outside any group have the empty name, and are first."""
    values = Values(verb)
    part = own_part(verb, values)
    kind, hints, inherited, chosen = part.kind, part.hints, part.inherited, part.chosen
    sections: dict[str, list[str]] = {"": []}
    if part.base is not None:
        words = ", and these:" if hints.keys() - inherited else "."
        sections[""].append(f"It takes the groups and values of [aiayn {part.base}](#aiayn-{part.base}){words}")
    groups = [name for name, hint in hints.items() if dataclasses.is_dataclass(hint) or get_origin(hint) is dict]
    sections[""].append(_keys(values.rows(kind, "", without={*groups, *inherited})))
    for name in (group for group in chosen if group not in hints):
        sections[name] = [_options(name, chosen[name])]
    for name in (group for group in groups if group not in inherited):
        sections[name] = [_prose(meanings(kind)[name]), _options(name, chosen[name]) if name in chosen else ""]
        if dataclasses.is_dataclass(hints[name]):
            sections[name] += _typed_group(verb, values, name, hints[name], chosen.get(name))
        else:
            keys = open_keys(values, name, chosen.get(name))
            sections[name].append(_keys(values.row(key, "", comment) for key, comment in keys))
    return sections


def _typed_group(verb: str, values: Values, name: str, kind: type, chosen: str | None) -> Iterator[str]:
    """The keys that every option of a group has, and those that only some have."""
    yield _keys(values.rows(kind, name))
    if chosen is None or not kind.__subclasses__():
        return
    for own, options in options_by_type(verb, name).items():
        first, *others = options
        defaults = options.get(chosen, options[first])
        if rows := list(defaults.rows(own, name, without=get_type_hints(kind))):
            whose = f" (defaults of `{first}`)" if others else ""
            yield f"Besides, for {', '.join(f'`{name}={option}`' for option in options)}{whose}:"
            yield _keys(rows)


def comments_of(path: Path) -> dict[str, str]:
    """The comment at the end of a key's line, by dotted key."""
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()

    def walk(node: yaml.Node | None, prefix: str) -> Iterator[tuple[str, str]]:
        if isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                yield f"{prefix}{key.value}", lines[key.start_mark.line].partition(" # ")[2]
                yield from walk(value, f"{prefix}{key.value}.")

    return dict(walk(yaml.compose(text), ""))


def _options(group: str, chosen: str | None) -> str:
    """The options of a group with the comment that each file opens with."""
    folder = store.group_directory(group)
    rows = [
        (f"`{name}`" + (" (default)" if name == chosen else ""), _prose(heading_comment(folder / f"{name}.yaml")))
        for name in store.options(group)
    ]
    return _table((f"`{group}=`", "meaning"), rows)


def _launchers() -> Iterator[str]:
    """The launchers of a multirun, and their keys."""
    paths = {name: store.launcher_values(name) for name in LAUNCHERS}
    options = [("`basic` (default)", "The jobs of a sweep one after another, each in a process of its own.")]
    options += [(f"`{name}`", _prose(heading_comment(path).partition(": ")[2])) for name, path in paths.items()]
    yield _table(("`hydra/launcher=`", "meaning"), options)
    for name, kind in LAUNCHERS.items():
        yield f"Keys of `{name}`:"
        yield _hydra_keys("hydra.launcher", kind, yaml.safe_load(paths[name].read_text(encoding="utf-8")))


def _sweepers() -> Iterator[str]:
    """The keys of a search and of a pre-registered study."""
    for name, kind in SWEEPERS.items():
        sweep = added_sweepers()[name].sweep
        yield f"Keys of `aiayn train sweeps={sweep}`:"
        content = yaml.safe_load((store.sweeps_directory() / f"{sweep}.yaml").read_text(encoding="utf-8"))
        yield _hydra_keys("hydra.sweeper", kind, content["hydra"]["sweeper"])


def _hydra_keys(prefix: str, kind: type, values: Mapping[str, Any]) -> str:
    """The keys of a part of Hydra that this project provides, with the values that its file states."""
    explained, hints = meanings(kind), get_type_hints(kind)
    return _keys(
        (f"`{prefix}.{name}`", _type(hint), _code(values[name]), "", _prose(explained[name]))
        for name, hint in hints.items()
        if name in values and name in explained
    )


def _type(hint: Any) -> str:
    """A type in words."""
    metadata = getattr(hint, "__metadata__", ())
    named = next((each for each in metadata if isinstance(each, Name)), None)
    if isinstance(named, NameOrClass):
        return f"{_type(named.names)}, or `module:Class`"
    if named is not None and get_args(hint)[0] is str:
        return ", ".join(f"`{name}`" for name in named.names)
    for each in metadata:
        if isinstance(each, OneOrList):
            return f"{_type(named.names if named else each.kind)} or list{' or `null`' if each.is_optional else ''}"
    if get_origin(hint) is Annotated:
        hint = get_args(hint)[0]
    if get_origin(hint) in (Union, UnionType):
        return " or ".join(map(_type, get_args(hint)))
    if isinstance(hint, type) and issubclass(hint, Enum):
        return ", ".join(f"`{member.name}`" for member in hint)
    return "list" if get_origin(hint) in (list, tuple) else WORDS.get(hint, "any")


def _code(value: Any) -> str:
    """A value as one would write it in YAML."""
    if value == MISSING:
        return "*required*"
    text = yaml.safe_dump(value, default_flow_style=True, width=10_000).removesuffix("...\n").strip()
    return f"`{text}`"


def _keys(rows: Iterable[Row]) -> str:
    """A table of keys, without columns that are empty."""
    columns = zip(("key", "type", "default", "in conf/", "meaning"), *rows, strict=True)
    filled = [column for column in columns if any(column[1:])]
    headings, *lines = zip(*filled, strict=True) if filled else [()]
    return _table(headings, lines) if lines else ""


def _table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    return markdown_table(Grid("", tuple(f"<{heading}" for heading in headings), (tuple(map(tuple, rows)),)))


def _prose(text: str) -> str:
    """A comment as Markdown: only text in backticks is markup."""
    parts = text.split("`")
    parts[::2] = [re.sub(r"(?<!\w)_\w+_(?!\w)", r"`\g<0>`", part.replace("<", "&lt;")) for part in parts[::2]]
    return "`".join(parts)
