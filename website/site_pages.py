"""What the site has besides docs/: a hook of MkDocs adds pages made from other files, and keeps relative links whole.

A document links to files of the repository by relative paths, so that it reads well there. Here those paths lead to the
page that a file became, or to a copy of the file below source/.
"""

import posixpath
import re
from pathlib import Path
from typing import Any

import yaml
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from aiayn.commands.front_end import COMMANDS
from aiayn.reports.configuration import configuration_page

ROOT = Path(__file__).parents[1]

COPIES = {"README.md": "overview.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}
"""Documents outside docs/ and the pages that they become."""

LINK = re.compile(r"(?<=\]\()(?![a-z]+:|#)([^)#\s]+)")
"""The path of a link or picture; not its anchor, nor addresses of other sites."""

NOTEBOOK_LINK = re.compile(r'(?<=href=")(?![a-z]+:)([^"#]+)\.(?:md|ipynb)((?:#[^"]*)?")')
"""A link to a document or notebook in the HTML of a notebook."""

BADGES = re.compile(r"^\[!\[.*https://img\.shields\.io.*\n", re.MULTILINE)
"""Pictures that another host draws."""

API = """\
# Python reference

Every function validates, identifies and locks runs as the command of its name does. Importing `aiayn` loads no
tensor library.

::: aiayn
    options:
      show_root_heading: false
      show_root_toc_entry: false
"""

COMMANDS_INTRODUCTION = """\
# Commands

The text of `aiayn <verb> --help`, with the groups and keys of [configuration](configuration.md).
A group is chosen by `group=option`, a value stated by `key=value`.
"""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages, and the files of the repository that a document links to."""
    generated = {copy: BADGES.sub("", (ROOT / name).read_text(encoding="utf-8")) for name, copy in COPIES.items()}
    configuration = configuration_page()
    generated |= {"api.md": API, "configuration.md": configuration, "commands.md": commands_page(configuration)}
    for name, content in generated.items():
        files.append(File.generated(config, name, content=content))
    documents = [*(ROOT / name for name in COPIES), *(ROOT / "docs").rglob("*.md")]
    for name in sorted({name for document in documents for name in linked_sources(document)}):
        files.append(File.generated(config, f"source/{name}.txt", content=(ROOT / name).read_text(encoding="utf-8")))
    return files


def on_page_markdown(markdown: str, *, page: Page, **_: Any) -> str:
    """Turn the paths of links from the repository's to the site's."""
    place = page.file.src_uri
    origin = next((name for name, copy in COPIES.items() if copy == place), f"docs/{place}")
    return LINK.sub(lambda found: site_path(found[1], origin=origin, place=place), markdown)


def on_post_page(output: str, *, page: Page, **_: Any) -> str:
    """Turn links of a notebook to sources into links to their pages: mkdocs-jupyter leaves them as they are."""
    return NOTEBOOK_LINK.sub(r"../\1/\2", output) if page.file.src_uri.endswith(".ipynb") else output


def linked_sources(document: Path) -> set[str]:
    """The files of the repository, by path, that a document links to and that are no pages of the site."""
    origin = document.relative_to(ROOT).as_posix()
    paths = (_resolved(link, origin) for link in LINK.findall(document.read_text(encoding="utf-8")))
    return {path for path in paths if path not in COPIES and not path.startswith("docs/") and (ROOT / path).is_file()}


def site_path(link: str, *, origin: str, place: str) -> str:
    """The path of a link on the site.

    Args:
        link: as the document states it.
        origin: path of the document in the repository.
        place: path of its page in the site's sources.
    """
    path = _resolved(link, origin)
    if path in COPIES:
        path = COPIES[path]
    elif path.startswith("docs/"):
        path = path.removeprefix("docs/")
    elif (ROOT / path).is_file():
        path = f"source/{path}.txt"
    else:
        return link  # of a generated page, or one that MkDocs reports
    return posixpath.relpath(path, posixpath.dirname(place) or ".")


def _resolved(link: str, origin: str) -> str:
    """The path in the repository that a link of a document leads to."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(origin), link))


def commands_page(configuration: str) -> str:
    """A section for each verb: its help, its own keys, its groups, and examples.

    Args:
        configuration: the page that lists all groups and keys.
    """
    parts = [COMMANDS_INTRODUCTION]
    for verb, command in COMMANDS.items():
        parts += [f"## aiayn {verb}", command.summary[:1].upper() + command.summary[1:] + "."]
        if command.nouns:
            parts.append("One of these follows: " + ", ".join(f"`{noun}`" for noun in command.nouns) + ".")
        path = ROOT / "conf" / "hydra" / "help" / f"{verb}.yaml"
        help_text = yaml.safe_load(path.read_text(encoding="utf-8")) if path.exists() else {"header": "", "footer": ""}
        if header := help_text["header"].strip():
            usage, _, purpose = header.partition("\n")
            parts += [_block(usage), _prose(purpose)]
        parts += _keys(verb, configuration)
        if "Examples:" in help_text["footer"]:
            parts += ["Examples:", _block(help_text["footer"].partition("Examples:\n")[2])]
    return "\n\n".join(parts) + "\n"


def _keys(verb: str, configuration: str) -> list[str]:
    """The verb's own keys as a table, and links to its groups."""
    section = configuration.partition(f"\n## aiayn {verb}\n")[2].partition("\n## ")[0]
    own, *groups = section.split("\n### ")
    table = "\n".join(line for line in own.splitlines() if line.startswith("|"))
    inherited = [line for line in own.splitlines() if line.startswith("It takes the groups")]
    names = (group.partition("\n")[0].removeprefix(f"{verb}: ") for group in groups)
    links = ", ".join(f"[{name}](configuration.md#{verb}-{name})" for name in names)
    return [part for part in (*inherited, table, links and f"Groups: {links}.") if part]


def _block(text: str) -> str:
    lines = (line.removeprefix("  ") for line in text.rstrip().splitlines())
    return "\n".join(["```text", *lines, "```"])


def _prose(text: str) -> str:
    """A paragraph whose words in angle brackets are no elements; code is as it was."""
    pieces = text.split("`")
    return "`".join(piece if place % 2 else piece.replace("<", "&lt;") for place, piece in enumerate(pieces))
