"""Links, headings and files named in the documents exist, and every command of theirs and of the help composes."""

import re
import shlex
import textwrap
from collections.abc import Iterator
from importlib import import_module
from operator import attrgetter
from pathlib import Path

import pytest
import yaml
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException

from aiayn.commands.front_end import COMMANDS
from aiayn.config import store
from aiayn.config.compose import compose_command
from aiayn.errors import UserError

ROOT = Path(__file__).parents[2]
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
RECORDS = ("log.md", "performance.md")
"""They name files of the past, or are written by a program."""

HAND_WRITTEN = [path for path in DOCUMENTS if path.name not in RECORDS]
HELP = sorted((store.conf_directory() / "hydra" / "help").glob("*.yaml"))
"""The footers of `aiayn <verb> --help`, which have examples."""

WITH_COMMANDS = [*HAND_WRITTEN, *HELP]
PLACES = (ROOT, ROOT / "src", ROOT / "src/aiayn", ROOT / "src/aiayn/reports/page")
"""Folders that a path of a document is relative to."""

EXAMPLES = tuple(
    f"my_conf/{name}.yaml"
    for name in ("experiment/mine", "experiment/cosine", "sweeps/cosine_pilots", "sweeps/cosine_study")
)
"""Files of the user."""


def anchors(page: str) -> set[str]:
    """The anchors of the page's headings."""
    headings = re.findall(r"^#+ (.+)$", page, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_and_anchors_exist(document: Path) -> None:
    for link in re.findall(r"\]\(([^)\s]+)\)", document.read_text(encoding="utf-8")):
        if link.startswith("http"):
            continue
        path, _, anchor = link.partition("#")
        target = document.parent / path if path else document
        assert target.exists(), link
        if anchor and target.suffix == ".md":
            assert anchor in anchors(target.read_text(encoding="utf-8")), link


@pytest.mark.parametrize("document", HAND_WRITTEN, ids=lambda path: path.name)
def test_named_files_exist(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    for code in re.findall(r"`([^`\n]+)`", text):
        for path in re.findall(r"(?<![\w/<.])[a-z_]+/[\w./*-]+\.(?:py|yaml|md|sh|js|html)\b", code):
            assert path in EXAMPLES or any(list(place.glob(path)) for place in PLACES), path


def test_the_paper_is_found_in_the_code() -> None:
    named = re.findall(r"`([\w/]+)\.py:([\w.]+)`", (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8"))
    assert len(named) > 20
    for file, name in named:
        attrgetter(name)(import_module(f"aiayn.{file.replace('/', '.')}"))


def commands(document: Path) -> Iterator[list[str]]:
    """Every command line of a document that begins with aiayn, word by word; a run directory is `RUN`."""
    text = document.read_text(encoding="utf-8")
    if document in HELP:
        _, _, examples = yaml.safe_load(text)["footer"].partition("Examples:\n")
        text = f"```\n{textwrap.dedent(examples)}```\n"
    text = re.sub(r"<(run directory|another)>", "RUN", text)
    for block, inline in re.findall(r"^```\w*\n(.*?)^```$|`([^`\n]+)`", text, re.MULTILINE | re.DOTALL):
        for line in re.sub(r"\\\n\s*", "", block).splitlines() or [inline]:
            command = re.sub(r"^\s*[A-Z_]+=\S+\s|\s#\s.*|\s*[<>|]\s*\S+\.\w+|;.*|\s&&.*", "", line).strip()
            if command.startswith("aiayn "):
                yield shlex.split(command)[1:]


def single(word: str) -> str:
    """An override with the first of the values that it sweeps over."""
    (override,) = OverridesParser.create().parse_overrides([word])
    if not override.is_sweep_override():
        return word
    return f"{override.get_key_element()}={next(override.sweep_string_iterator())}"


def is_open(word: str) -> bool:
    """Whether a word stands for others, or is no override."""
    return (
        word == "experiment=mine"
        or "=" not in word
        or word.startswith("-")
        or any(mark in word for mark in ("...", "<", "$", "glob("))
    )


def is_option(word: str) -> bool:
    """Whether a word chooses an option that exists."""
    group, _, option = word.partition("=")
    return option in store.options(group)


Line = tuple[str, tuple[str, ...]]
"""A verb and its overrides."""


def lines(document: Path) -> Iterator[Line]:
    """The command lines of a document, for those commands that are composed."""
    for verb, *words in commands(document):
        if verb in store.COMMANDS and "--config-dir" not in words:
            of_front_end = ("format=json",) if COMMANDS[verb].has_json else ()
            stated = [
                word for word in words if not is_open(word) and not word.startswith(("sweeps=", "hydra", *of_front_end))
            ]
            yield verb, tuple(sorted(single(re.sub("^from=", "published=", word)) for word in stated))


def error_of(line: Line) -> str | None:
    """The message with which a command line is refused."""
    try:
        compose_command(line[0], line[1])
    except (UserError, HydraException) as error:
        return str(error)
    return None


@pytest.fixture
def own_ideas(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The user's own classes of own-ideas.md can be imported."""
    page = (ROOT / "docs/own-ideas.md").read_text(encoding="utf-8")
    code = "\n\n".join(re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL))
    (tmp_path / "my_ideas.py").write_text(code, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)


@pytest.mark.long
def test_commands_compose(own_ideas: None) -> None:
    """A composition takes 0.2 s: lines that choose the same options and agree in their keys are composed together,
    and apart only if that fails. Options alone are not composed: the tests of conf/ do so.
    """
    packs: list[tuple[Line, dict[str, str], list[Line]]] = []
    for line in sorted({line for document in WITH_COMMANDS for line in lines(document)}):
        verb, words = line
        options = tuple(word for word in words if is_option(word))
        values = {word.partition("=")[0]: word for word in words if word not in options}
        if not values:
            continue
        fitting = (
            pack
            for pack in packs
            if pack[0] == (verb, options) and all(pack[1].get(key, word) == word for key, word in values.items())
        )
        _, together, members = pack = next(fitting, ((verb, options), {}, []))
        if not members:
            packs.append(pack)
        together.update(values)
        members.append(line)
    refused: dict[Line, str] = {}
    for (verb, options), values, members in packs:
        if error_of((verb, (*options, *values.values()))) is not None:
            refused |= {line: error for line in members if (error := error_of(line)) is not None}
    assert refused == {}


@pytest.mark.parametrize("document", WITH_COMMANDS, ids=lambda path: path.name)
def test_verbs_and_nouns_exist(document: Path) -> None:
    for verb, *words in commands(document):
        if verb.startswith(("-", "<", "...")):
            continue
        assert verb in COMMANDS, verb
        nouns = [word for word in words[:1] if "=" not in word and COMMANDS[verb].nouns]
        assert set(nouns) <= {*COMMANDS[verb].nouns, "<table>", "..."}, (verb, *words)
