"""Check a built site without a network: every link, picture and script of its pages exists, and nothing is fetched.

    python website/site_check.py build/site

Prints a line for each mistake; the exit code is 1 if there is one.
"""

import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {("script", "src"), ("img", "src"), ("link", "href"), ("iframe", "src"), ("source", "src")}
"""Elements and attributes whose address a browser fetches with the page."""

UNRENDERED = re.compile(r"\n\s*(?:[-*+] |\d+\. |\|.*\|)|\]\(")
"""Markdown in the text of a paragraph: a list or table that begins without a blank line, or a link."""


@dataclass
class Outline(HTMLParser):
    """The anchors, addresses and paragraphs of a page."""

    text: str
    ids: set[str] = field(default_factory=set)
    addresses: list[tuple[str, str, str]] = field(default_factory=list)
    """Element, attribute and value."""
    paragraphs: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()
        self._inside, self._in_code = False, 0
        self.feed(self.text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect the element's id and addresses."""
        attributes = dict(attrs)
        self.ids |= {name for key in ("id", "name") if (name := attributes.get(key))}
        for key in ("href", "src"):
            if value := attributes.get(key):
                self.addresses.append((tag, key, value))
        if tag == "p":
            self._inside = True
            self.paragraphs.append("")
        self._in_code += tag == "code"

    def handle_endtag(self, tag: str) -> None:
        """Note where a paragraph ends."""
        self._inside &= tag != "p"
        self._in_code -= tag == "code"

    def handle_data(self, data: str) -> None:
        """Collect the words of a paragraph, without code."""
        if self._inside and not self._in_code:
            self.paragraphs[-1] += data


def mistakes(site: Path) -> Iterator[str]:
    """The mistakes of all pages, as `page: address: reason`."""
    pages = {path: Outline(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}
    for path, outline in pages.items():
        place = path.relative_to(site)
        for tag, key, address in outline.addresses:
            reason = mistake_of(address, path, site, pages, is_loaded=(tag, key) in LOADED)
            if reason:
                yield f"{place}: {address}: {reason}"
        for paragraph in outline.paragraphs:
            if found := UNRENDERED.search(paragraph):
                yield f"{place}: {paragraph[: found.end() + 40]!r}: Markdown that is not rendered"


def mistake_of(address: str, page: Path, site: Path, pages: Mapping[Path, Outline], *, is_loaded: bool) -> str | None:
    """Why an address of a page is wrong; None if it is right or leads to another site.

    Args:
        address: as the page states it.
        page: the file that states it.
        site: folder of the site, absolute.
        pages: all pages of the site.
        is_loaded: whether a browser fetches it with the page.
    """
    parts = urlsplit(address)
    if parts.scheme or parts.netloc:
        return "is fetched from another host" if is_loaded and parts.scheme in ("", "http", "https") else None
    if parts.path.startswith("/"):
        return None if page.name == "404.html" else "begins at the host's root"
    target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
    if target.is_dir():
        target /= "index.html"
    if not target.is_file() or not target.is_relative_to(site):
        return "no such file"
    anchor = unquote(parts.fragment)
    if anchor and target in pages and not anchor.startswith("__") and anchor not in pages[target].ids:
        return "no such anchor"
    return None


def main() -> int:
    """Check the site in the folder that the command line names."""
    (folder,) = sys.argv[1:]
    site = Path(folder).resolve()
    found = list(mistakes(site))
    pages = len(list(site.rglob("*.html")))
    print("\n".join([*found, f"{folder}: {pages} pages, {len(found)} mistakes"]))
    return 1 if found or not pages else 0


if __name__ == "__main__":
    sys.exit(main())
