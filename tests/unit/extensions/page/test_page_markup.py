"""Text from runs is escaped."""

import json
from html.parser import HTMLParser

from hypothesis import given
from hypothesis import strategies as st

from aiayn.extensions.page.markup import Html, data_block, escaped, joined, scientific, tag, with_symbols

text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\r"))
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | text, lambda inner: st.lists(inner) | st.dictionaries(text, inner)
)


class Parsed(HTMLParser):
    """Elements and text of markup, as a browser reads them."""

    def __init__(self, markup: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(markup)
        self.close()

    def handle_starttag(self, name: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append((name, dict(attributes)))

    def handle_data(self, data: str) -> None:
        self.text += data


@given(child=text, value=text)
def test_text_and_attributes_are_read_as_they_were(child: str, value: str) -> None:
    parsed = Parsed(tag("td", child, tag("b", child), title=value, data_v=1, hidden=True, id=None, open=False))
    assert [name for name, _ in parsed.tags] == ["td", "b"]
    assert parsed.tags[0][1] == {"title": value, "data-v": "1", "hidden": None}
    assert parsed.text == child + child


@given(parts=st.lists(text), separator=text)
def test_joined_text_is_escaped_once(parts: list[str], separator: str) -> None:
    once = joined(parts, separator)
    assert Parsed(once).text == separator.join(parts)
    assert escaped(once) is once


@given(content=json_values)
def test_data_cannot_end_its_element(content: object) -> None:
    block = data_block({"content": content}, id="data")
    parsed = Parsed(block)
    assert [name for name, _ in parsed.tags] == ["script"]
    assert json.loads(parsed.text) == {"content": content}
    assert "<" not in block.removeprefix("<script").removesuffix("</script>")


@given(words=text.filter(lambda words: "_" not in words))
def test_text_without_the_papers_symbols_is_only_escaped(words: str) -> None:
    assert with_symbols(words) == escaped(words)


def test_the_papers_symbols_have_an_index() -> None:
    assert with_symbols("d_model=256, eps_ls<1") == "<i>d</i><sub>model</sub>=256, <i>ε</i><sub>ls</sub>&lt;1"
    assert with_symbols("d_kept, my_d_k, table3/b_dk16") == "d_kept, my_d_k, table3/b_dk16"


def test_large_numbers_are_powers_of_ten() -> None:
    assert scientific(1.23e13) == Html("1.2 × 10<sup>13</sup>")
    assert scientific(0.0) == scientific(float("inf")) == ""
