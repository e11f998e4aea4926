"""HTML built from text, and the pieces that the page's tables share. Only this module makes markup; text is escaped."""

import html
import json
import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

VOID = frozenset({"br", "col", "input", "meta"})
"""Elements without an end tag."""

SYMBOL = re.compile(r"\b(?P<letter>[dP]|eps|ε)_(?P<index>model|ff|k|v|drop|ls)(?![A-Za-z0-9_])")
"""The paper's own symbols."""

GROUPS = ("base", "A", "B", "C", "D", "E", "big", "own")
"""Of rows, in the paper's order; own is for other experiments."""


class Html(str):
    """Markup; any other text is escaped where it meets markup."""

    __slots__ = ()


def tag(name: str, *children: str | None, **attributes: str | float | bool | None) -> Html:
    """An element.

    Args:
        name: of the element.
        children: markup, or text, which is escaped; None is nothing.
        attributes: by name, with `_` for `-`, and at the end where Python needs one, as in `class_`; None and False
            leave an attribute out, True states it without a value.
    """
    stated = "".join(_attribute(key, value) for key, value in attributes.items() if value is not None)
    return Html(f"<{name}{stated}>" if name in VOID else f"<{name}{stated}>{joined(children)}</{name}>")


def _attribute(key: str, value: str | float | bool) -> str:
    if value is False:
        return ""
    name = key.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{html.escape(str(value))}"'


def joined(parts: Iterable[str | None], separator: str = "") -> Html:
    """Markup and text one after another; text is escaped."""
    return Html(escaped(separator).join(escaped(part) for part in parts if part is not None))


def escaped(text: str) -> Html:
    """Text as markup; markup is unchanged."""
    return text if isinstance(text, Html) else Html(html.escape(text))


def with_symbols(text: str) -> Html:
    """Text with the paper's symbols as it prints them: d_model is a letter with an index."""
    parts: list[str] = []
    end = 0
    for found in SYMBOL.finditer(text):
        letter = found["letter"].replace("eps", "ε")
        parts += [text[end : found.start()], tag("i", letter), tag("sub", found["index"])]
        end = found.end()
    return joined([*parts, text[end:]])


def scientific(value: float) -> Html:
    """As in 1.2 × 10¹³."""
    if not value or not math.isfinite(value):
        return Html("")
    mantissa, exponent = f"{value:.1e}".split("e")
    return joined((f"{mantissa} × 10", tag("sup", str(int(exponent)).replace("-", "−"))))


def data_block(content: Any, **attributes: str) -> Html:
    """JSON for the page's own script; nothing in it can end the element."""
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    return tag("script", Html(text), type="application/json", **attributes)


def chip(group: str) -> Html:
    """The colour of a group, beside its name."""
    return tag("i", class_=f"chip g-{group}", title=group_name(group))


def group_name(group: str) -> str:
    """As in (A), or base."""
    return f"({group})" if len(group) == 1 else group


def filtered(group: str, text: str) -> dict[str, str]:
    """Attributes with the text that the page's filter matches."""
    return {"data_group": group, "data_text": text.lower()}


def number(text: str, value: float | None = None, *, class_: str = "") -> Html:
    """A cell that is aligned right and sorts by its value."""
    return tag("td", text, class_=f"n {class_}".strip(), data_v=sort_key(value))


def bar(text: str, value: float | None, most: float) -> Html:
    """The same with a bar behind it that is as long as its share of the largest."""
    share = None if value is None else f"--share:{100 * value / most:.1f}%"
    return tag("td", tag("span", text, class_="share", style=share), class_="n", data_v=sort_key(value))


def sort_key(value: float | None) -> str | None:
    """Of a cell; None, which comes last, without a finite value."""
    return None if value is None or not math.isfinite(value) else f"{value:.8g}"


def heading(text: str) -> Html:
    """The head of a column; as in a Grid, < aligns it left."""
    name = text.removeprefix("<")
    return tag("th", name, scope="col", class_="n" if name == text else None)


def sortable(text: str) -> Html:
    """The same with a button that sorts the column."""
    name = text.removeprefix("<")
    kind = "words" if name != text else "n"
    return tag("th", tag("button", name, type="button"), scope="col", class_=kind, aria_sort="none")


def table(label: str, head: Iterable[Iterable[Html]], *bodies: Iterable[Html | None], **attributes: str | bool) -> Html:
    """A table in a frame that scrolls sideways, also by keys.

    Args:
        label: for screen readers.
        head: rows of headings.
        bodies: groups of rows.
        attributes: of the table.
    """
    content = tag("thead", *(tag("tr", *cells) for cells in head)), *(tag("tbody", *rows) for rows in bodies)
    return tag(
        "div", tag("table", *content, **attributes), class_="scroller", role="region", aria_label=label, tabindex=0
    )


def facts_list(facts: Mapping[str, str]) -> Html:
    """Names and values, without empty values."""
    rows = (tag("div", tag("dt", name), tag("dd", value)) for name, value in facts.items() if value)
    return tag("dl", *rows, class_="facts")
