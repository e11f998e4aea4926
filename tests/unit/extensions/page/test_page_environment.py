"""Text from runs is escaped wherever a template shows it."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import jinja2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiayn.extensions.page import environment as tested
from aiayn.extensions.page.environment import environment

text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\r"))
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | text, lambda inner: st.lists(inner) | st.dictionaries(text, inner)
)

TEMPLATES = Path(tested.__file__).with_name("templates")
PIECES: Any = environment().get_template("pieces.html").module


class Parsed(HTMLParser):
    """Elements and text of markup, as a browser reads them."""

    def __init__(self, markup: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(str(markup))  # jinja2 returns a kind of string that escapes what is added to it
        self.close()

    def handle_starttag(self, name: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append((name, dict(attributes)))

    def handle_data(self, data: str) -> None:
        self.text += data


@given(child=text, value=text)
def test_text_and_attributes_are_read_as_they_were(child: str, value: str) -> None:
    cell = Parsed(PIECES.number(child, 0.1, kind=value).removesuffix("\n"))
    assert cell.tags == [("td", {"class": f"n {value}" if value else "n", "data-v": "0.1"})]
    assert cell.text == child
    row = Parsed(f"<tr {PIECES.filtered(child, value)}>")
    assert row.tags == [("tr", {"data-group": child, "data-text": value.lower()})]
    listed = Parsed(PIECES.facts({child: f"!{value}", f"{child} ": ""}))
    assert listed.text == f"\n{child}!{value}\n\n"
    assert [name for name, _ in listed.tags] == ["dl", "div", "dt", "dd"]


def test_a_cell_without_a_finite_value_has_no_key_to_sort_by() -> None:
    for value in (None, float("nan"), float("inf")):
        assert Parsed(PIECES.number("a", value)).tags == [("td", {"class": "n"})]


@given(content=json_values)
def test_data_cannot_end_its_element(content: object) -> None:
    template = environment().from_string('<script id="data">{{ content | tojson }}</script>')
    block = template.render(content={"content": content})
    parsed = Parsed(block)
    assert [name for name, _ in parsed.tags] == ["script"]
    assert json.loads(parsed.text) == {"content": content}
    assert "<" not in block.removeprefix("<script").removesuffix("</script>")


def test_only_the_pages_own_style_and_script_are_not_escaped() -> None:
    found = {
        path.name: re.findall(r"\{\{ (\w+) \| safe \}\}", content)
        for path in TEMPLATES.glob("*.html")
        if re.search(r"\bsafe\b|autoescape", content := path.read_text(encoding="utf-8"))
    }
    assert found == {"page.html": ["style", "script"]}


def test_a_name_that_nobody_gave_is_an_error() -> None:
    with pytest.raises(jinja2.UndefinedError):
        environment().from_string("{{ nothing }}").render()


@given(words=text.filter(lambda words: "_" not in words))
def test_text_without_the_papers_symbols_is_only_escaped(words: str) -> None:
    shown = Parsed(PIECES.symbols(words))
    assert (shown.text, shown.tags) == (words, [])


def test_the_papers_symbols_have_an_index() -> None:
    assert PIECES.symbols("d_model=256, eps_ls<1") == "<i>d</i><sub>model</sub>=256, <i>ε</i><sub>ls</sub>&lt;1"
    assert PIECES.symbols("d_kept, my_d_k, table3/b_dk16") == "d_kept, my_d_k, table3/b_dk16"


def test_large_numbers_are_powers_of_ten() -> None:
    assert PIECES.scientific(1.23e13) == "1.2 × 10<sup>13</sup>"
    assert PIECES.scientific(0.0) == PIECES.scientific(float("inf")) == ""
