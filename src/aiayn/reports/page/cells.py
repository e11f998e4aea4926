"""Pieces that the page's tables are made of, and what its script looks at in them."""

import math

from aiayn.reports.page.markup import Html, tag

GROUPS = ("base", "A", "B", "C", "D", "E", "big", "own")
"""Of rows, in the paper's order; own is what the paper does not have."""


def chip(group: str) -> Html:
    """The colour of a group, beside its name."""
    return tag("i", class_=f"chip g-{group}", title=group_name(group))


def group_name(group: str) -> str:
    """As people say it."""
    return f"({group})" if len(group) == 1 else group


def filtered(group: str, text: str) -> dict[str, str]:
    """The text that the page's filter matches."""
    return {"data_group": group, "data_text": text.lower()}


def number(text: str, value: float | None, *, class_: str = "") -> Html:
    """A cell that sorts by its value, not by its text."""
    return tag("td", text, class_=f"n {class_}".strip(), data_v=plain(value))


def bar(text: str, value: float | None, most: float) -> Html:
    """The same with a bar behind it that is as long as its share of the largest."""
    share = None if value is None else f"--share:{100 * value / most:.1f}%"
    return tag("td", tag("span", text, class_="share", style=share), class_="n", data_v=plain(value))


def heading(text: str) -> Html:
    """The head of a column; those of words begin with <, as in a Grid."""
    name = text.removeprefix("<")
    return tag("th", name, scope="col", class_="n" if name == text else None)


def sortable(text: str) -> Html:
    """The same where the column sorts when it is pressed."""
    name = text.removeprefix("<")
    kind = "words" if name != text else "n"
    return tag("th", tag("button", name, type="button"), scope="col", class_=kind, aria_sort="none")


def scroller(table: Html, label: str) -> Html:
    """A frame within which a wide table scrolls sideways, by keys too."""
    return tag("div", table, class_="scroller", role="region", aria_label=label, tabindex=0)


def plain(value: float | None) -> str | None:
    """The sort key of a cell; None, which comes last, without a finite value."""
    return None if value is None or not math.isfinite(value) else f"{value:.8g}"
