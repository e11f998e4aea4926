"""HTML built from text: whatever comes from a run is escaped, because only this module makes markup."""

import html
import json
import math
import re
from collections.abc import Iterable
from typing import Any

VOID = frozenset({"br", "col", "input", "meta"})
"""Elements without an end."""


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


def joined(parts: Iterable[str | None], separator: str = "") -> Html:
    """Markup and text one after another; text is escaped."""
    return Html(escaped(separator).join(escaped(part) for part in parts if part is not None))


def escaped(text: str) -> Html:
    """Text as markup; markup stays."""
    return text if isinstance(text, Html) else Html(html.escape(text))


SYMBOL = re.compile(r"\b(?P<letter>[dP]|eps|ε)_(?P<index>model|ff|k|v|drop|ls)(?![A-Za-z0-9_])")
"""The paper's own symbols."""


def with_symbols(text: str) -> Html:
    """Text with the paper's symbols as it prints them: d_model is a letter with an index."""
    parts: list[str] = []
    end = 0
    for found in SYMBOL.finditer(text):
        letter = {"eps": "ε"}.get(found["letter"], found["letter"])
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


def _attribute(key: str, value: str | float | bool) -> str:
    if value is False:
        return ""
    name = key.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{html.escape(str(value))}"'
