"""The pages that the site adds: each verb has its section, and links of the repository lead to pages of the site."""

from pathlib import Path

import pytest
import yaml

from aiayn.commands.front_end import COMMANDS
from aiayn.reports.configuration import configuration_page
from site_pages import COPIES, ROOT, commands_page, linked_sources, site_path

DOCUMENTS = [*(ROOT / name for name in COPIES), *sorted((ROOT / "docs").rglob("*.md"))]


def navigated(nav: list[object]) -> list[str]:
    """The paths of a navigation."""
    found: list[str] = []
    for entry in nav:
        for value in entry.values() if isinstance(entry, dict) else [entry]:
            found += navigated(value) if isinstance(value, list) else [str(value)]
    return found


def test_every_document_is_in_the_navigation_once() -> None:
    text = (
        (ROOT / "mkdocs.yml").read_text(encoding="utf-8").replace("!!python/object/apply:pymdownx.slugs.slugify ", "")
    )
    paths = navigated(yaml.safe_load(text)["nav"])
    documents = [path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")]
    notebooks = [path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.ipynb")]
    expected = {*documents, *notebooks, *COPIES.values(), "api.md", "commands.md", "configuration.md"}
    assert {path for path in paths if not path.endswith(".html")} == expected
    assert len(paths) == len(set(paths))


@pytest.mark.long
def test_every_verb_has_its_help_and_keys() -> None:
    page = commands_page(configuration_page())
    sections = {part.partition("\n")[0]: part for part in page.split("\n## aiayn ")[1:]}
    assert list(sections) == list(COMMANDS)
    assert all(f"aiayn {verb}" in text for verb, text in sections.items() if verb != "reproduce")
    assert "| `init_from` |" in sections["train"]
    assert "[model](configuration.md#train-model)" in sections["train"]


@pytest.mark.parametrize(
    ("link", "origin", "place", "expected"),
    [
        ("docs/tables.md", "README.md", "overview.md", "tables.md"),
        ("CONTRIBUTING.md", "README.md", "overview.md", "contributing.md"),
        ("../README.md", "docs/index.md", "index.md", "overview.md"),
        ("../tables.md", "docs/results/table1.md", "results/table1.md", "../tables.md"),
        ("../../CHANGELOG.md", "docs/results/table1.md", "results/table1.md", "../changelog.md"),
        ("LICENSE", "README.md", "overview.md", "source/LICENSE.txt"),
        ("configuration.md", "docs/commands.md", "commands.md", "configuration.md"),
    ],
)
def test_links_lead_to_pages_of_the_site(link: str, origin: str, place: str, expected: str) -> None:
    assert site_path(link, origin=origin, place=place) == expected


def test_files_that_documents_link_to_are_copied() -> None:
    found = {name for document in DOCUMENTS for name in linked_sources(document)}
    assert {"LICENSE", "pyproject.toml"} <= found
    assert all(Path(ROOT / name).is_file() for name in found)
