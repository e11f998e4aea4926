"""Pictures of attention: heat maps of all layers and heads, and lines between words as in the paper's figures 3 to 5.

They are drawn by matplotlib without its global state, and the same weights give the same bytes.
"""

import math
import warnings
from collections.abc import Iterator, Sequence
from io import BytesIO
from typing import Any, TypeVar

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import LinearSegmentedColormap, to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from numpy.typing import NDArray
from PIL import Image

from aiayn.runs.attention_maps import Kind, Map

Item = TypeVar("Item")

TITLES: dict[Kind, str] = {
    "encoder": "Encoder self-attention",
    "decoder": "Decoder self-attention",
    "cross": "Encoder-decoder attention",
}
NOTES: dict[Kind, str] = {
    "encoder": "{0} attend to {1}",
    "decoder": "{0}, which are predicted, attend to {1}, which were read before",
    "cross": "{0}, which are predicted, attend to {1}, the source",
}

INK, SOFT, FAINT, FRAME = "#222222", "#595959", "#a0a0a0", "#bbbbbb"

SMALL = 7.5
"""Points."""

SHADES = LinearSegmentedColormap.from_list(
    "weight", ["#ffffff", "#d6e6f4", "#9ac7e0", "#4f9bcb", "#1f63a8", "#0b3a73", "#04152e"]
)
"""Darker throughout, so that it can be read without colours, too."""

HEADS = ("#332288", "#cc6677", "#117733", "#ddaa33", "#44aa99", "#882255", "#5aa2dc", "#999933", "#aa4499")
"""Colours that the colour-blind can tell apart, after Paul Tol's muted scheme."""

DASHES = ("solid", (0, (5, 1.5)), (0, (1.5, 1.5)), (0, (5, 1.5, 1.5, 1.5)))
"""For more heads than colours."""

UNIT = 0.135
"""Inches of a row or column of a heat map, where there is room."""

NARROWEST = 0.6
"""Inches from one heat map to the next at least, as much as the names of a head and a layer take."""

SHORTEST_SCALE = 0.65
"""Inches, so that its labels stand apart."""

HEADS_ABREAST = 8
"""Heat maps beside each other; a layer with more heads has several rows of them."""

WIDEST = 24.0
"""Inches that a row of heat maps may take."""

LABEL = 0.11
"""Inches that a label takes at least; where rows are narrower, only some have one."""

LINE = 0.22
"""Inches between words that are joined by lines."""

LONGEST_LABEL = 20
"""Characters."""

LINES_ACROSS = 1.7
"""Inches from one side to the other."""

PANELS_ABREAST = 4

KEY, KEYS_ABREAST = 0.8, 3
"""Inches that the name of a head takes in a panel's key, and how many stand beside each other."""

DPI = 120

MOST_PIXELS = 16_000
"""On a side; matplotlib draws no more than four times as many."""

LETTER = 0.08
"""Inches that a letter of a label takes, roughly."""

FAINTEST = 0.05
"""Lines of less weight are not drawn: they could not be seen."""


def heat_maps(attention: Map, *, layers: Sequence[int], heads: Sequence[int]) -> Figure:
    """A grid of heat maps, a row for each layer (or several where it has many heads) and a column for each head.

    Args:
        attention: of one sentence.
        layers: those to draw, counted from 0.
        heads: likewise.
    """
    queries, keys = len(attention.queries), len(attention.keys)
    columns = min(len(heads), HEADS_ABREAST)
    rows = [(layer, abreast) for layer in layers for abreast in _cut(heads, columns)]
    gap = 1.0 + 0.03 * max(queries, keys)
    unit = min(max(UNIT, NARROWEST / (min(queries, keys) + gap)), WIDEST / (columns * (keys + gap)))
    is_wrapped = len(rows) > len(layers)
    across, down = keys + gap, queries + gap + is_wrapped * 0.2 / unit
    width, height = columns * across - gap, (len(rows) - 1) * down + queries
    figure, axes = _canvas(width, height, unit=(unit, unit))
    some = slice(None, None, max(1, math.ceil(LABEL / unit)))
    for row, (layer, abreast) in enumerate(rows):
        top = row * down
        for column, head in enumerate(abreast):
            _image(axes, attention.weights[layer, head], (column * across, top, keys, queries))
            if row == 0 or is_wrapped:
                middle = column * across + keys / 2
                _text(axes, middle, top - 0.05 / unit, f"head {head + 1}", ha="center", va="bottom")
        for place, label in list(enumerate(attention.queries))[some]:
            _text(axes, -0.4, top + place + 0.5, _short(label), ha="right", fontsize=SMALL)
        right = (len(abreast) - 1) * across + keys + 0.06 / unit
        _text(axes, right, top + queries / 2, f"layer {layer + 1}", rotation=270)
    for column in range(columns):
        for place, label in list(enumerate(attention.keys))[some]:
            x = column * across + place + 0.5
            _text(axes, x, height + 0.4, _short(label), ha="center", va="top", fontsize=SMALL, rotation=90)
    _scale(axes, left=width + 0.35 / unit, length=max(SHORTEST_SCALE / unit, min(1.1 / unit, height)), width=0.1 / unit)
    _title(axes, attention, "", ("rows", "columns"), above=0.3 / unit, line=0.18 / unit)
    return figure


def lines(attention: Map, *, layer: int, heads: Sequence[int], word: str | None = None) -> Figure:
    """Queries on the left, keys on the right, joined by lines as opaque as the weight.

    Every head has a colour, and a panel of its own (as in figure 5) unless one word alone attends (figures 3 and 4).

    Args:
        attention: of one sentence.
        layer: counted from 0.
        heads: those to draw, likewise.
        word: only lines from queries that are called so, of all heads together; None: from all queries.
    """
    panels = [[head] for head in heads] if word is None else [list(heads)]
    count = max(len(attention.queries), len(attention.keys))
    labels = sum(max(len(_short(label)) for label in side) for side in (attention.queries, attention.keys)) * LETTER
    across, down = LINES_ACROSS + labels + 0.35, count * LINE + 0.5
    rows = list(_cut(panels, max(1, min(PANELS_ABREAST, int(WIDEST / across)))))
    size = ((len(rows[0]) - 1) * across + LINES_ACROSS, (len(rows) - 1) * down + count * LINE)
    figure, axes = _canvas(*size, unit=(1.0, 1.0))
    colours = {head: HEADS[place % len(HEADS)] for place, head in enumerate(heads)}
    for row, abreast in enumerate(rows):
        for column, panel in enumerate(abreast):
            _panel(
                axes,
                attention,
                (column * across, row * down),
                [(head, attention.weights[layer, head], colours[head]) for head in panel],
                word,
            )
    _title(
        axes,
        attention,
        f", layer {layer + 1}",
        ("words on the left", "those on the right"),
        above=0.13 + 0.17 * _rows(panels[0]),
        line=0.18,
    )
    return figure


def _panel(
    axes: Axes,
    attention: Map,
    corner: tuple[float, float],
    heads: Sequence[tuple[int, NDArray[np.floating[Any]], str]],
    word: str | None,
) -> None:
    """Two columns of words, joined by the lines of some heads: number, weights `[queries, keys]`, colour."""
    x, top = corner
    height = max(len(attention.queries), len(attention.keys)) * LINE
    left, right = (top + _spread(len(side), height) for side in (attention.queries, attention.keys))
    attends = np.array([word in (None, query) for query in attention.queries])
    fan = np.linspace(-0.4, 0.4, len(heads)) * LINE if len(heads) > 1 else np.zeros(1)
    width = min(1.7, 0.8 * LINE * 72 / len(heads))  # points: as wide as side by side they can be
    for place, (head, weights, colour) in enumerate(heads):
        dashes = DASHES[place // len(HEADS) % len(DASHES)]
        shown = np.clip(weights * attends[:, None], 0.0, 1.0)
        ends = np.argwhere(shown >= FAINTEST)
        segments = [[(x, left[query]), (x + LINES_ACROSS, right[key] + fan[place])] for query, key in ends]
        _join(axes, segments, [(*to_rgb(colour), shown[query, key]) for query, key in ends], width, dashes)
        key_x, key_y = x + place % KEYS_ABREAST * KEY, top - 0.12 - 0.17 * (_rows(heads) - 1 - place // KEYS_ABREAST)
        _join(axes, [[(key_x, key_y), (key_x + 0.22, key_y)]], [colour], width, dashes)
        _text(axes, key_x + 0.27, key_y, f"head {head + 1}", fontsize=SMALL)
    for place, label, is_lit in zip(left, attention.queries, attends, strict=True):
        _text(axes, x - 0.06, place, _short(label), ha="right", color=INK if is_lit else FAINT)
    for place, label in zip(right, attention.keys, strict=True):
        _text(axes, x + LINES_ACROSS + 0.06, place, _short(label))


def _rows(heads: Sequence[Any]) -> int:
    """Rows of the names of a panel's heads."""
    return math.ceil(len(heads) / KEYS_ABREAST)


def _join(axes: Axes, segments: Sequence[Any], colours: Sequence[Any], width: float, dashes: Any) -> None:
    axes.add_collection(
        LineCollection(segments, colors=colours, linewidths=width, linestyles=[dashes], capstyle="butt", clip_on=False)
    )


def rendered(figure: Figure, file_format: str) -> bytes:
    """A figure as a file, png or svg. Characters that matplotlib's font lacks are boxes in a png."""
    stream = BytesIO()
    # Text of an svg stays text: small, found by a search, and in the fonts of whoever looks at it.
    settings: dict[Any, Any] = {"svg.hashsalt": "aiayn", "svg.fonttype": "none"}
    details: dict[str, Any] = {"metadata": {"Date": None}}
    if file_format == "png":
        details = {"metadata": {"Software": None}, "pil_kwargs": {"compress_level": 0}}
    dpi = min(DPI, MOST_PIXELS / max(figure.get_size_inches()))
    with rc_context(settings), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r"Glyph .* missing from font|Matplotlib currently does not support")
        figure.savefig(stream, format=file_format, dpi=dpi, bbox_inches="tight", pad_inches=0.12, **details)
    return _with_palette(stream) if file_format == "png" else stream.getvalue()


def _with_palette(png: BytesIO) -> bytes:
    """The picture in 256 colours: a fourth of the bytes, and not to be told from the whole."""
    picture = Image.open(png).convert("RGB")
    smaller = BytesIO()
    palette = picture.quantize(256, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    palette.save(smaller, format="png", optimize=True)
    return smaller.getvalue()


def _canvas(width: float, height: float, *, unit: tuple[float, float]) -> tuple[Figure, Axes]:
    """A figure with nothing in it; all is placed in units from its upper left corner, which are so many inches."""
    figure = Figure(figsize=(width * unit[0], height * unit[1]))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_xlim(0, width)
    axes.set_ylim(height, 0)
    axes.set_axis_off()
    return figure, axes


def _scale(axes: Axes, *, left: float, length: float, width: float) -> None:
    """The legend of the shades."""
    _image(axes, np.linspace(1, 0, 64)[:, None] ** 2, (left, 0, width, length))
    for weight in (0, 0.1, 0.25, 0.5, 1):
        _text(axes, left + 1.4 * width, length * (1 - weight**0.5), f"{weight:g}", fontsize=SMALL)


def _image(axes: Axes, values: NDArray[np.floating[Any]], place: tuple[float, float, float, float]) -> None:
    """Weights `[rows, columns]` as shades of their roots, so that small ones show; at left, top, width, height."""
    left, top, width, height = place
    extent = (left, left + width, top + height, top)
    axes.imshow(
        values**0.5, cmap=SHADES, vmin=0, vmax=1, extent=extent, aspect="auto", interpolation="none", clip_on=False
    )
    axes.add_patch(Rectangle((left, top), width, height, fill=False, edgecolor=FRAME, linewidth=0.6, clip_on=False))


def _title(axes: Axes, attention: Map, rest: str, sides: tuple[str, str], *, above: float, line: float) -> None:
    """What is seen, so far above the corner, with a line that says which side attends to which."""
    _text(axes, 0, -above - line, TITLES[attention.kind] + rest, va="bottom", fontsize=10.5, weight="bold")
    _text(axes, 0, -above, NOTES[attention.kind].format(*sides), va="bottom", fontsize=SMALL + 0.5, color=SOFT)


def _text(axes: Axes, x: float, y: float, text: str, **style: Any) -> None:
    """A label as it is: no formulas, in the font that matplotlib brings along."""
    settings: dict[str, Any] = {"va": "center", "fontsize": 9, "color": INK, "family": "DejaVu Sans"}
    axes.text(x, y, text, parse_math=False, rotation_mode="default", **(settings | style))


def _short(label: str) -> str:
    """A label with its middle left out where it is very long."""
    half = LONGEST_LABEL // 2
    return label if len(label) <= LONGEST_LABEL else f"{label[:half]}…{label[-half + 1 :]}"


def _cut(items: Sequence[Item], size: int) -> Iterator[Sequence[Item]]:
    """Pieces of so many items, the last one shorter."""
    return (items[start : start + size] for start in range(0, len(items), size))


def _spread(count: int, height: float) -> NDArray[np.float64]:
    """The middles of so many rows that share a height."""
    return (np.arange(count) + 0.5) * height / count
