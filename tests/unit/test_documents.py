"""What the documents name exists: files, links, headings; every command of theirs is one that the program takes."""

import re
import shlex
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException

from aiayn.commands.front_end import COMMANDS
from aiayn.config import store
from aiayn.config.compose import compose_command
from aiayn.errors import UserError

ROOT = Path(__file__).parents[2]
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
RECORDS = ("log.md", "performance.md", "configuration.md")
"""They name what there was, or are written by a program and tested beside it."""

HAND_WRITTEN = [path for path in DOCUMENTS if path.name not in RECORDS]
PLACES = (ROOT, ROOT / "src", ROOT / "src/aiayn", ROOT / "src/aiayn/reports/page")
"""Below which a path of a document may lie."""

EXAMPLES = ("my_conf/experiment/mine.yaml", "hydra/launcher/joblib.yaml")
"""Files of the user's, or that are said not to be there."""


def anchors(page: str) -> set[str]:
    """What a link to one of the page's headings may end with."""
    headings = re.findall(r"^#+ (.+)$", page, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_link_leads_somewhere(document: Path) -> None:
    for link in re.findall(r"\]\(([^)\s]+)\)", document.read_text(encoding="utf-8")):
        if link.startswith("http"):
            continue
        path, _, anchor = link.partition("#")
        target = document.parent / path if path else document
        assert target.exists(), link
        if anchor and target.suffix == ".md":
            assert anchor in anchors(target.read_text(encoding="utf-8")), link


@pytest.mark.parametrize("document", HAND_WRITTEN, ids=lambda path: path.name)
def test_every_file_of_the_project_that_is_named_is_there(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    for code in re.findall(r"`([^`\n]+)`", text):
        for path in re.findall(r"(?<![\w/<.])[a-z_]+/[\w./*-]+\.(?:py|yaml|md|sh|js|html)\b", code):
            assert path in EXAMPLES or any(list(place.glob(path)) for place in PLACES), path


def commands(document: Path) -> Iterator[list[str]]:
    """Every command line of a document that begins with aiayn, word by word."""
    for block, inline in re.findall(
        r"^```\w*\n(.*?)^```$|`([^`\n]+)`", document.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    ):
        lines = re.sub(r"\\\n\s*", "", block).splitlines() or [inline]
        for line in lines:
            command = re.sub(r"\s#\s.*|\s*[<>|]\s*\S+\.\w+|;.*|\s&&.*", "", line).strip()
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
        or "..." in word
        or "<" in word
        or "$" in word
        or "=" not in word
        or word.startswith("-")
    )


@pytest.mark.parametrize("document", HAND_WRITTEN, ids=lambda path: path.name)
def test_every_command_has_a_verb_and_keys_that_compose(document: Path) -> None:
    for verb, *words in commands(document):
        if verb.startswith(("-", "<", "...")):
            continue
        assert verb in COMMANDS, verb
        nouns = [word for word in words[:1] if "=" not in word and COMMANDS[verb].nouns]
        assert set(nouns) <= {*COMMANDS[verb].nouns, "<table>", "..."}, (verb, *words)
        if verb not in store.COMMANDS or "--config-dir" in words:
            continue
        stated = [word for word in words if not is_open(word) and not word.startswith(("sweeps=", "hydra"))]
        try:
            composed(verb, tuple(single(word) for word in stated))
        except (UserError, HydraException) as error:
            pytest.fail(f"{document.name}: aiayn {verb} {' '.join(words)}: {error}")


@cache
def composed(verb: str, words: tuple[str, ...]) -> None:
    """Compose a command; the documents repeat many."""
    compose_command(verb, words)
