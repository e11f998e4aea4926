"""`aiayn <verb> --help`: the groups and values of a verb, explained by the schema's docstrings."""

import dataclasses
import shutil
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, get_type_hints

import yaml
from omegaconf import DictConfig, OmegaConf

from aiayn.commands.composing import compose_first
from aiayn.commands.words import unknown_word_remedy
from aiayn.config import store
from aiayn.config.compose import without_hydra
from aiayn.config.identity import flatten
from aiayn.config.meanings import meanings
from aiayn.errors import UserError

GROUPS = {
    "experiment": "A row of a table, or an experiment of your own.",
    "fidelity": "The source of settings on which the paper, the authors' code and fairseq differ.",
    "debug": "A short run to find mistakes, which is a trial and no result.",
    "sweeps": "A file of many runs, which makes the command a multirun.",
    "hydra/launcher": "Where the jobs of a multirun run.",
    "hardware": "The devices of a plan.",
}
"""The groups that are no field of the schema, and those whose field says less."""

ALL = "all"
"""The word that lists every value."""

FEW = 40
"""A verb with so many values or fewer lists them all."""

WIDEST, NAMES = 110, 24
"""Columns of the whole, and of the names at the left."""


def print_help(
    verb: str, overrides: Sequence[str], sections: Sequence[str], *, nouns: Sequence[str], has_json: bool
) -> None:
    """Print the help of a verb.

    Args:
        verb: the verb.
        overrides: choose options, whose values are shown.
        sections: groups, or `all`, whose values are listed; without them, only the groups of a verb with many values.
        nouns: one of them must follow the verb.
        has_json: whether the verb takes format=json.

    Raises:
        UserError: there is no such section, or the words do not compose.
    """
    composed, _ = compose_first(verb, overrides)
    hydra, own = composed.hydra, without_hydra(composed)
    nested = [str(key) for key, value in own.items_ex(resolve=False) if isinstance(value, DictConfig)]
    for section in sections:
        if section not in (*nested, ALL):
            remedy = unknown_word_remedy(section, [*nested, ALL])
            raise UserError(f"aiayn {verb} {section} --help: no such group of values; {remedy}")
    count = len(flatten(_plain(own)))
    listed = nested if ALL in sections or count <= FEW else list(sections)
    header = hydra.help.header.rstrip() + (f"\n\n<noun> is one of {', '.join(nouns)}." if nouns else "")
    lines = [] if sections else [*_wrapped(header), *_groups(verb, hydra)]
    lines += [
        "Values (key=value):",
        "",
        *_values(verb, own, listed, only_listed=bool(sections) and ALL not in sections),
    ]
    if has_json and not sections:
        lines += _entry("format=text", "json: one document on standard output, for programs (docs/json.md).")
    if len(listed) < len(nested):
        remedy = f"aiayn {verb} {nested[0]} --help lists the values of a group, aiayn {verb} all --help all."
        lines += ["", *_wrapped(remedy)]
    lines += [] if sections else ["", *_examples(hydra.help.footer.rstrip())]
    sys.stdout.write("\n".join(lines) + "\n")


def _width() -> int:
    return min(WIDEST, shutil.get_terminal_size().columns)


def _wrapped(text: str) -> Iterator[str]:
    """Paragraphs; a line with a command, or an indented one, is one of its own."""
    paragraphs = [""]
    for line in text.splitlines():
        is_further = line and paragraphs[-1] and not line.startswith((" ", "aiayn "))
        if is_further and not paragraphs[-1].startswith((" ", "aiayn ")):
            paragraphs[-1] += f" {line}"
        else:
            paragraphs.append(line)
    for paragraph in paragraphs[1:]:
        yield from textwrap.wrap(paragraph, _width(), break_long_words=False, break_on_hyphens=False) or [""]


def _examples(text: str) -> Iterator[str]:
    """Commands and code: broken between words on a narrow terminal alone."""
    for line in text.splitlines():
        indent = len(line) - len(line.lstrip())
        if sys.stdout.isatty() and len(line) > _width():
            further = " " * (indent + 4)
            yield from textwrap.wrap(
                line, _width(), subsequent_indent=further, break_long_words=False, break_on_hyphens=False
            )
        else:
            yield line


def _entry(name: str, text: str) -> Iterator[str]:
    """A name with its explanation beside it, or below it if the name is long."""
    lines = textwrap.wrap(text, max(20, _width() - NAMES), break_long_words=False, break_on_hyphens=False)
    start = f"  {name}"
    if len(start) > NAMES - 2 or not lines:
        yield start
    else:
        yield f"{start:<{NAMES}}{lines.pop(0)}"
    yield from (f"{'':<{NAMES}}{line}" for line in lines)


def _groups(verb: str, hydra: DictConfig) -> list[str]:
    """A line for each group, or two: its purpose, and its options."""
    chosen = hydra.runtime.choices
    folders = [Path(source.path) for source in hydra.runtime.config_sources if source.schema == "file"]
    explained = meanings(store.COMMANDS[verb]) | GROUPS
    lines: list[str] = []
    for group, options in store.groups(verb, folders=folders).items():
        default = "none" if chosen[group] is None else store.ALIASES.get(chosen[group], chosen[group])
        lines += _entry(group, f"{explained[group]} Default {default}; {_some(options)}")
    return ["", "Groups (group=option):", "", *lines, ""] if lines else [""]


def _some(options: Sequence[str]) -> str:
    """The options in a line; of many, the first few and their number."""
    text = ", ".join(options)
    if len(text) <= WIDEST:
        return text
    kept: list[str] = []
    while len(", ".join([*kept, options[len(kept)]])) < WIDEST // 2:
        kept.append(options[len(kept)])
    return f"{', '.join(kept)}, ... ({len(options)})"


def _plain(own: DictConfig) -> dict[str, Any]:
    content = OmegaConf.to_container(own, resolve=False, enum_to_str=True)
    assert isinstance(content, dict)
    return {str(key): value for key, value in content.items()}


def _values(verb: str, own: DictConfig, listed: Sequence[str], *, only_listed: bool) -> Iterator[str]:
    """The values by key; of a group that is not listed, their number."""
    kind, content = store.COMMANDS[verb], _plain(own)
    explained = meanings(kind)
    for key, value in content.items():
        if key in listed:
            typed = OmegaConf.get_type(own, key)
            yield from _leaves(key, value, typed)
        elif not only_listed and isinstance(value, dict):
            number = len(flatten(value))
            yield from _entry(f"{key}.*", f"{explained.get(key, '')} {number} value{'s' * (number != 1)}.")
        elif not only_listed:
            yield from _entry(f"{key}={_text(value)}", explained.get(key, ""))


def _leaves(prefix: str, content: Any, kind: type | None) -> Iterator[str]:
    """The values below a group, with the docstrings of its dataclass if it has one."""
    if not isinstance(content, Mapping) or not content:
        yield from _entry(f"{prefix}={_text(content)}", "")
        return
    is_typed = dataclasses.is_dataclass(kind)
    explained: Mapping[str, str] = meanings(kind) if kind is not None and is_typed else {}
    hints = get_type_hints(kind) if is_typed else {}
    for name, value in content.items():
        if isinstance(value, dict) and value:
            inner = hints.get(name)
            yield from _leaves(f"{prefix}.{name}", value, inner if isinstance(inner, type) else None)
        else:
            yield from _entry(f"{prefix}.{name}={_text(value)}", explained.get(name, ""))


def _text(value: Any) -> str:
    return yaml.safe_dump(value, default_flow_style=True, width=10_000).removesuffix("...\n").strip()
