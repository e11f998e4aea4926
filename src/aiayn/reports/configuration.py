"""Every key of every command: types and meanings from the schema, values and comments from conf/."""

import ast
import dataclasses
import inspect
import re
from collections.abc import Iterator, Mapping
from enum import Enum
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, NamedTuple, Union, get_args, get_origin, get_type_hints

import yaml
from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from aiayn.config import store
from aiayn.config.compose import compose_command
from aiayn.config.identity import flatten
from aiayn.config.resolvers import RESOLVERS
from aiayn.config.sweep_schema import SlurmConfig, SweeperConfig
from aiayn.system import files

MISSING = "???"

WORDS: dict[Any, str] = {int: "integer", float: "number", bool: "`true` or `false`", str: "text", NoneType: "`null`"}
"""The page's words for types."""

SURROUNDINGS = (
    (re.compile(r"\$\{oc\.env:\w+,((?:[^{}]|\$\{[^{}]*\})*)\}"), r"\1"),
    (re.compile(r"\$\{run_hash:\}"), "<hash>"),
)
"""Expressions that differ from machine to machine or with every value, and what the page shows for them."""

INTRODUCTION = """\
# Configuration

The groups, keys and defaults of every command with keys of its own: all but `aiayn reproduce`, which takes those of
others. Of Hydra's own groups, `hydra/launcher` and `hydra/sweeper` are listed, with the keys that this project adds.
Written by `aiayn report configuration` (in a checkout: `make docs`) from the schema in `src/aiayn/config/*schema.py`,
the values in `conf/` and the comments there. Edit those, not this page.

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
[aiayn train](#aiayn-train), and of [aiayn report](#aiayn-report) `output`, `only.data`, `resamples` (not for `table4`)
and `only.like` (for `table3`).
"""


class Row(NamedTuple):
    """One key."""

    key: str
    type: str
    default: str
    expression: str
    meaning: str


def report_configuration(output: Path | None) -> None:
    """Print the page, or write it."""
    page = configuration_page()
    if output is None:
        print(page, end="")  # noqa: T201
        return
    files.write_text(output, page)
    print(output)  # noqa: T201


def configuration_page() -> str:
    """The whole page in Markdown; it depends on the schema and conf/ alone."""
    commands = {verb: _sections(verb) for verb in store.COMMANDS}
    contents = [f"- [aiayn {verb}](#aiayn-{verb}): {_links(verb, commands[verb])}" for verb in commands]
    contents += [
        "- [aiayn reproduce](#aiayn-reproduce): as [aiayn train](#aiayn-train), and keys of the report",
        "- [hydra/launcher](#hydralauncher), [hydra/sweeper](#hydrasweeper): sweeps",
    ]
    resolvers = [[f"`${{{function.__name__}:...}}`", _first_line(inspect.getdoc(function))] for function in RESOLVERS]
    parts = [INTRODUCTION, "\n".join(contents), EXPRESSIONS, _table(["expression", "value"], resolvers)]
    for verb, sections in commands.items():
        purpose = _heading_comment(store.conf_directory() / f"{verb}.yaml").partition(": ")[2]
        parts += [f"## aiayn {verb}", _prose(purpose[:1].upper() + purpose[1:])]
        for group, lines in sections.items():
            parts += [f"### {verb}: {group}", *lines] if group else lines
    parts += ["## aiayn reproduce", REPRODUCE, "## hydra/launcher", *_launchers(), "## hydra/sweeper", *_search()]
    return "\n\n".join(part.strip() for part in parts if part) + "\n"


def _relative(verb: str) -> str | None:
    """The first command before this one whose keys it has, and perhaps more."""
    before = list(store.COMMANDS)[: list(store.COMMANDS).index(verb)]
    return next((other for other in before if issubclass(store.COMMANDS[verb], store.COMMANDS[other])), None)


def _links(verb: str, sections: Mapping[str, list[str]]) -> str:
    relative = _relative(verb)
    own = ", ".join(f"[{group}](#{verb}-{group})" for group in sections if group)
    if relative is None:
        return own or "values only"
    return f"as [aiayn {relative}](#aiayn-{relative})" + (f", and {own}" if own else "")


def _sections(verb: str) -> dict[str, list[str]]:
    """The parts of a command by group; those of the values outside any group under the empty name."""
    kind, relative = store.COMMANDS[verb], _relative(verb)
    composed = compose_command(verb)
    chosen = {group.partition("@")[0]: option for group, option in HydraConfig.get().runtime.choices.items()}
    chosen = {group: option for group, option in reversed(chosen.items()) if not group.startswith("hydra/")}
    hints, explained = get_type_hints(kind), meanings(kind)
    sections: dict[str, list[str]] = {}
    if relative is not None:
        inherited = get_type_hints(store.COMMANDS[relative])
        hints = {name: hint for name, hint in hints.items() if name not in inherited}
        chosen = {group: option for group, option in chosen.items() if group in hints}
        more = ", and these:" if hints else "."
        sections[""] = [f"It takes the groups and values of [aiayn {relative}](#aiayn-{relative}){more}"]
    values = [
        name for name in hints if not dataclasses.is_dataclass(hints[name]) and get_origin(hints[name]) is not dict
    ]
    if values:
        rows = [_row(composed, name, hints[name], explained[name]) for name in values]
        sections.setdefault("", []).append(_keys(rows))
    for group in chosen:
        if group not in hints:
            sections[group] = [_options(group, chosen[group])]
    for name in hints:
        if name in values:
            continue
        sections[name] = [_prose(explained[name]), _options(name, chosen[name]) if name in chosen else ""]
        if dataclasses.is_dataclass(hints[name]):
            sections[name] += _typed_group(verb, composed, name, hints[name], chosen.get(name))
        else:
            sections[name].append(_open_group(composed, name, chosen.get(name)))
    return sections


def _typed_group(verb: str, composed: DictConfig, name: str, kind: type, chosen: str | None) -> list[str]:
    """The keys that every option of a group has, and those that only some have."""
    parts = [_keys(list(_rows(composed, name, kind)))]
    if chosen is None or not kind.__subclasses__():  # no group of files: no option has keys of its own
        return parts
    options: dict[type, list[str]] = {}
    roots: dict[type, DictConfig] = {}
    for option in store.options(name):
        root = composed if option == chosen else compose_command(verb, [f"{name}={option}"])
        own = OmegaConf.get_type(root, name)
        assert own is not None
        options.setdefault(own, []).append(option)
        roots.setdefault(own, root)
    for own, names in options.items():
        rows = list(_rows(roots[own], name, own, without=get_type_hints(kind)))
        if rows:
            others = f" (defaults of `{names[0]}`)" if len(names) > 1 else ""
            parts += [f"Besides, for {', '.join(f'`{name}={option}`' for option in names)}{others}:", _keys(rows)]
    return parts


def _rows(root: DictConfig, prefix: str, kind: type, *, without: Mapping[str, Any] | None = None) -> Iterator[Row]:
    """The keys of a dataclass and of those inside it, dotted."""
    explained = meanings(kind)
    for name, hint in get_type_hints(kind).items():
        key = f"{prefix}.{name}"
        if without is not None and name in without:
            continue
        if dataclasses.is_dataclass(hint):
            assert isinstance(hint, type)
            yield from _rows(root, key, hint)
        else:
            yield _row(root, key, hint, explained[name])


def _row(root: DictConfig, key: str, hint: Any, meaning: str) -> Row:
    default, expression = _value(root, key)
    return Row(key, _type(hint), default, expression, meaning)


def _value(root: DictConfig, key: str) -> tuple[str, str]:
    """A key's value, and the expression that it comes from or an empty text."""
    raw = _as_written(root)
    stated = raw[key]
    if stated == MISSING:
        return "*required*", ""
    if not isinstance(stated, str) or "${" not in stated:
        return _code(stated), ""
    return _code(_resolved(raw, key)), f"`{stated}`"


def _as_written(root: DictConfig) -> dict[str, Any]:
    """Every value of a composed configuration by its dotted key, expressions as they are written."""
    content = OmegaConf.to_container(root, resolve=False, enum_to_str=True)
    assert isinstance(content, dict)
    return flatten({str(key): value for key, value in content.items()})


def _resolved(raw: Mapping[str, Any], key: str) -> Any:
    """The value of an expression, away from this machine's environment."""
    plain = OmegaConf.create({})
    for name, value in raw.items():
        for pattern, replacement in SURROUNDINGS:
            value = pattern.sub(replacement, value) if isinstance(value, str) else value  # noqa: PLW2901
        OmegaConf.update(plain, name, None if value == "null" else value)
    try:
        return OmegaConf.select(plain, key, throw_on_missing=True)
    except OmegaConfBaseException:
        return MISSING


def _open_group(composed: DictConfig, name: str, chosen: str | None) -> str:
    """The keys of a group whose values go to a third party: as stated, with the comments beside them."""
    comments = _comments(store.conf_directory() / name / f"{chosen}.yaml")
    rows = []
    for key in (key for key in _as_written(composed) if key.startswith(f"{name}.")):
        default, expression = _value(composed, key)
        rows.append(Row(key, "", default, expression, comments.get(key.removeprefix(f"{name}."), "")))
    return _keys(rows)


def _comments(path: Path) -> dict[str, str]:
    """The comment at the end of a key's line, by dotted key."""
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()

    def walk(node: yaml.Node | None, prefix: str) -> Iterator[tuple[str, str]]:
        if isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                _, mark, comment = lines[key.start_mark.line].partition(" # ")
                yield f"{prefix}{key.value}", comment if mark else ""
                yield from walk(value, f"{prefix}{key.value}.")

    return dict(walk(yaml.compose(text), ""))


def _options(group: str, chosen: str | None) -> str:
    """The options of a group with the comment that each file opens with."""
    names = store.options(group)
    folder = store.group_directory(group)
    rows = [
        [f"`{name}`" + (" (default)" if name == chosen else ""), _prose(_heading_comment(folder / f"{name}.yaml"))]
        for name in names
    ]
    return _table([f"`{group}=`", "meaning"], rows)


def _launchers() -> list[str]:
    """The launchers of a multirun, and the keys of jobs on Slurm; joblib's are Hydra's."""
    files = {"joblib": store.conf_directory() / store.JOBLIB, "slurm": store.conf_directory() / store.SLURM}
    options = [["`basic` (default)", "The jobs of a sweep one after another, each in a process of its own."]]
    options += [[f"`{name}`", _prose(_heading_comment(path).partition(": ")[2])] for name, path in files.items()]
    values = yaml.safe_load(files["slurm"].read_text(encoding="utf-8"))
    return [
        _table(["`hydra/launcher=`", "meaning"], options),
        "Keys of `slurm`:",
        _keys(list(_hydra_rows("hydra.launcher", SlurmConfig, values))),
    ]


def _search() -> list[str]:
    """The keys of `sweeps=search`."""
    values = yaml.safe_load((store.sweeps_directory() / "search.yaml").read_text(encoding="utf-8"))["hydra"]["sweeper"]
    return ["Keys of `aiayn train sweeps=search`:", _keys(list(_hydra_rows("hydra.sweeper", SweeperConfig, values)))]


def _hydra_rows(prefix: str, kind: type, values: Mapping[str, Any]) -> Iterator[Row]:
    """The keys of a part of Hydra that this project provides, with the values that its file states."""
    explained = meanings(kind)
    for name, hint in get_type_hints(kind).items():
        if name in values and name in explained:
            yield Row(f"{prefix}.{name}", _type(hint), _code(values[name]), "", explained[name])


def _heading_comment(path: Path) -> str:
    """The comment that a file opens with, in one line."""
    found = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            break
        if not line.startswith("# @package"):
            found.append(line.lstrip("# "))
    return " ".join(found)


def meanings(kind: type) -> dict[str, str]:
    """The docstrings of a dataclass' fields, its bases' too; they exist in the source alone."""
    found: dict[str, str] = meanings(kind.overridden) if hasattr(kind, "overridden") else {}
    for each in reversed(kind.__mro__):
        if dataclasses.is_dataclass(each):
            (definition,) = ast.parse(inspect.getsource(each)).body
            assert isinstance(definition, ast.ClassDef)
            for field, text in zip(definition.body, definition.body[1:], strict=False):
                if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr):
                    assert isinstance(field.target, ast.Name)
                    assert isinstance(text.value, ast.Constant)
                    found[field.target.id] = inspect.cleandoc(str(text.value.value)).replace("\n", " ")
    return found


def _type(hint: Any) -> str:
    """A type in words."""
    if get_origin(hint) in (Union, UnionType):
        return " or ".join(_type(each) for each in get_args(hint))
    if isinstance(hint, type) and issubclass(hint, Enum):
        return ", ".join(f"`{member.name}`" for member in hint)
    if get_origin(hint) in (list, tuple):
        return "list"
    return WORDS.get(hint, "any")


def _code(value: Any) -> str:
    """A value as one would write it in YAML."""
    if value == MISSING:
        return "*required*"
    text = yaml.safe_dump(value, default_flow_style=True, width=10_000).removesuffix("...\n").strip()
    return f"`{text}`"


def _keys(rows: list[Row]) -> str:
    """A table of keys without the columns that would be empty."""
    headings = ("key", "type", "default", "in conf/", "meaning")
    cells = [[f"`{row.key}`", row.type, row.default, row.expression, _prose(row.meaning)] for row in rows]
    filled = [column for column in range(len(headings)) if any(row[column] for row in cells)]
    return _table([headings[column] for column in filled], [[row[column] for column in filled] for row in cells])


def _table(headings: list[str], rows: list[list[str]]) -> str:
    if not rows:
        return ""
    lines = [headings, ["---"] * len(headings), *([cell.replace("|", "\\|") for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _prose(text: str) -> str:
    """A comment as Markdown: what stands in backticks stays, and nothing else is taken for markup."""
    parts = text.split("`")
    parts[::2] = [re.sub(r"(?<!\w)_\w+_(?!\w)", r"`\g<0>`", part.replace("<", "&lt;")) for part in parts[::2]]
    return "`".join(parts)


def _first_line(text: str | None) -> str:
    return (text or "").partition("\n")[0]
