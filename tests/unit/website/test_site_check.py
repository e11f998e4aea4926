"""The check of a built site finds dead links, dead anchors, addresses of other hosts and Markdown left as it was."""

from pathlib import Path

import pytest

from site_check import mistakes

GOOD = """<h1 id="top">A</h1><p>Text <code>- a
- b</code></p><a href="folder/b.html#b">b</a><img src="a.png"><a href="#top">t</a>"""


@pytest.fixture
def site(tmp_path: Path) -> Path:
    (tmp_path / "folder").mkdir()
    (tmp_path / "a.html").write_text(GOOD)
    (tmp_path / "folder" / "b.html").write_text(
        '<h1 id="b">B</h1><a href="../a.html">a</a><a href="https://a.org">a</a>'
    )
    (tmp_path / "a.png").write_bytes(b"")
    return tmp_path


def test_a_whole_site_has_no_mistakes(site: Path) -> None:
    assert list(mistakes(site)) == []


@pytest.mark.parametrize(
    ("markup", "reason"),
    [
        ('<a href="c.html">c</a>', "no such file"),
        ('<a href="../outside.html">c</a>', "no such file"),
        ('<a href="folder/b.html#c">c</a>', "no such anchor"),
        ('<a href="#c">c</a>', "no such anchor"),
        ('<a href="/a.html">c</a>', "begins at the host's root"),
        ('<img src="https://a.org/a.png">', "is fetched from another host"),
        ('<script src="//a.org/a.js"></script>', "is fetched from another host"),
        ("<p>These:\n- one</p>", "Markdown that is not rendered"),
        ("<p><code>c</code> and\n1. one</p>", "Markdown that is not rendered"),
        ("<p>[a](b.md)</p>", "Markdown that is not rendered"),
    ],
)
def test_a_mistake_is_found(site: Path, markup: str, reason: str) -> None:
    (site.parent / "outside.html").write_text("")
    (site / "a.html").write_text(GOOD + markup)
    (found,) = mistakes(site)
    assert found.startswith("a.html: ")
    assert found.endswith(reason)
