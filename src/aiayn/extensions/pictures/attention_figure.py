"""Pictures of attention: heat maps of all layers and heads, and lines between words as in the paper's figures 3 to 5.

The same weights give the same bytes. Figures are as large as their panels; `rendered` adds room for the labels outside.
"""

import math
import unicodedata
import warnings
from collections.abc import Iterable, Sequence
from io import BytesIO
from typing import Any, TypeVar

import numpy as np
from matplotlib import font_manager, rc_context
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import LinearSegmentedColormap, PowerNorm, to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import NDArray
from PIL import Image

from aiayn.runs.attention_maps import Kind, Map, Weights

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

SMALL, MEDIUM = 7.5, 9  # points

SHADES = LinearSegmentedColormap.from_list(
    "weight", ["#ffffff", "#d6e6f4", "#9ac7e0", "#4f9bcb", "#1f63a8", "#0b3a73", "#04152e"]
)
HEADS = ("#332288", "#cc6677", "#117733", "#ddaa33", "#44aa99", "#882255", "#5aa2dc", "#999933", "#aa4499")
"""Paul Tol's muted scheme, which the colour-blind can distinguish."""

DASHES = ("solid", (0, (5, 1.5)), (0, (1.5, 1.5)), (0, (5, 1.5, 1.5, 1.5)))
"""For more heads than colours."""

MAPS_ABREAST, PANELS_ABREAST, KEYS_ABREAST = 8, 4, 3  # in a row: heat maps, panels of lines, names of heads

# Inches.
UNIT, NARROWEST, WIDEST = 0.135, 0.5, 24.0  # cell of a heat map, narrowest heat map, widest row of panels
LABEL, LETTER, LINE, LINES_ACROSS = 0.11, 0.08, 0.22, 1.7  # label's height, letter's width, distances of words

LONGEST_LABEL = 20
FAINTEST = 0.05
"""Lines of smaller weights would be invisible and are not drawn."""

DPI, MOST_PIXELS = 120, 16_000
"""Pixels per inch, and on a side; matplotlib draws at most four times as many."""


def fonts_for(labels: Iterable[str]) -> tuple[list[str], str]:
    """Return the names of the fonts that draw labels, matplotlib's own first, and the characters that none has."""
    own = font_manager.FontProperties()
    missing = {*map(ord, "".join(labels))} - font_manager.get_font(font_manager.findfont(own)).get_charmap().keys()
    names = [own.get_name()]
    fonts = {font.name: font.fname for font in font_manager.fontManager.ttflist if font.style == "normal"}
    for name, path in sorted(fonts.items()) if missing else ():
        found = font_manager.get_font(path).get_charmap().keys() & missing
        if found and not name.startswith("Last Resort"):  # which has a box for every character
            names.append(name)
            missing -= found
    return names, "".join(map(chr, sorted(missing)))


def scripts_of(characters: str) -> list[str]:
    """Return the scripts of characters as Unicode names them, each once, as in Devanagari."""
    first = (unicodedata.name(each, "unnamed").split()[0] for each in characters)
    return list(dict.fromkeys(each if each == "CJK" else each.title() for each in first))


def heat_maps(attention: Map, *, layers: Sequence[int], heads: Sequence[int]) -> Figure:
    """Heat maps, a column for each head and a row for each layer (or several, if it has many heads).

    Args:
        attention: of one sentence.
        layers: to draw, counted from 0.
        heads: likewise.
    """
    queries, keys = len(attention.queries), len(attention.keys)
    columns = min(len(heads), MAPS_ABREAST)
    rows = [(layer, abreast) for layer in layers for abreast in _cut(heads, columns)]
    is_wrapped = len(rows) > len(layers)
    unit = min(max(UNIT, NARROWEST / min(queries, keys)), WIDEST / (columns * keys))
    figure, axes = _panels(len(rows), columns, (keys * unit, queries * unit), (0.2, 0.4 if is_wrapped else 0.2))
    step = max(1, math.ceil(LABEL / unit))
    for row, (layer, abreast) in enumerate(rows):
        for column, head in enumerate(abreast):
            panel = axes[row, column]
            image = panel.imshow(
                attention.weights[layer, head], SHADES, PowerNorm(0.5, 0, 1), aspect="auto", interpolation="none"
            )
            panel.set_axis_on()
            panel.tick_params(left=False, bottom=False)
            panel.spines[:].set(color=FRAME, linewidth=0.6)
            if row == 0 or is_wrapped:
                panel.set_title(f"head {head + 1}", fontsize=MEDIUM, color=INK, pad=4)
            is_lowest = row == len(rows) - 1 or column >= len(rows[row + 1][1])
            style = {"fontsize": SMALL, "color": INK, "parse_math": False}
            panel.set_xticks(*_labels(attention.keys, step if is_lowest else None), rotation=90, **style)
            panel.set_yticks(*_labels(attention.queries, None if column else step), **style)
        right = 1 + 0.06 / (keys * unit)
        _text(panel, right, 0.5, f"layer {layer + 1}", transform=panel.transAxes, rotation=270)
    width, height = figure.get_size_inches()
    length = max(0.65, min(1.1, height))
    scale = figure.add_axes((1 + 0.35 / width, 1 - length / height, 0.1 / width, length / height))
    bar = figure.colorbar(image, scale, ticks=[0, 0.1, 0.25, 0.5, 1], format="%g")
    bar.outline.set(edgecolor=FRAME, linewidth=0.6)
    scale.tick_params(right=False, labelsize=SMALL, labelcolor=INK)
    _title(figure, attention, "", ("rows", "columns"), above=0.3)
    return figure


def lines(attention: Map, *, layer: int, heads: Sequence[int], word: str | None = None) -> Figure:
    """Queries on the left, keys on the right, joined by lines as opaque as the weight.

    Args:
        attention: of one sentence.
        layer: counted from 0.
        heads: to draw, likewise.
        word: draw lines from these queries only, of all heads in one panel (figures 3 and 4); None: from all queries,
            with a panel for each head (figure 5).
    """
    coloured = [(head, HEADS[place % len(HEADS)]) for place, head in enumerate(heads)]
    panels = [[each] for each in coloured] if word is None else [coloured]
    gap = 0.35 + LETTER * sum(max(map(len, map(_short, side))) for side in (attention.queries, attention.keys))
    height = LINE * max(len(attention.queries), len(attention.keys))
    columns = min(len(panels), PANELS_ABREAST, max(1, int(WIDEST / (LINES_ACROSS + gap))))
    figure, axes = _panels(math.ceil(len(panels) / columns), columns, (LINES_ACROSS, height), (gap, 0.5))
    for panel, drawn in zip(axes.flat, panels, strict=False):
        _draw_lines(panel, attention, attention.weights[layer], drawn, word)
    key = 0.17 * math.ceil(len(panels[0]) / KEYS_ABREAST)
    _title(figure, attention, f", layer {layer + 1}", ("words on the left", "those on the right"), above=0.15 + key)
    return figure


def _draw_lines(
    axes: Axes, attention: Map, weights: Weights, heads: Sequence[tuple[int, str]], word: str | None
) -> None:
    """Two columns of words, joined by the lines of some heads; `weights` are `[heads, queries, keys]`."""
    axes.set(xlim=(0, 1), ylim=(1, 0))
    left, right = ((np.arange(len(side)) + 0.5) / len(side) for side in (attention.queries, attention.keys))
    attends = np.array([word in (None, query) for query in attention.queries])
    line = 1 / max(len(left), len(right))
    fan = np.linspace(-0.4, 0.4, len(heads)) * line if len(heads) > 1 else np.zeros(1)
    width = min(1.7, 0.8 * LINE * 72 / len(heads))  # points: at most as wide as fits side by side
    keys = []
    for place, (head, colour) in enumerate(heads):
        shown = np.clip(weights[head] * attends[:, None], 0.0, 1.0)
        ends = np.argwhere(shown >= FAINTEST)
        segments = [[(0, left[query]), (1, right[key] + fan[place])] for query, key in ends]
        colours = [(*to_rgb(colour), shown[query, key]) for query, key in ends]
        dashes: Any = DASHES[place // len(HEADS) % len(DASHES)]
        axes.add_collection(
            LineCollection(segments, linewidths=width, colors=colours, linestyles=[dashes], clip_on=False)
        )
        keys.append(Line2D([], [], color=colour, linewidth=width, linestyle=dashes, label=f"head {head + 1}"))
    axes.legend(
        handles=keys,
        ncols=KEYS_ABREAST,
        loc="lower left",
        bbox_to_anchor=(0, 1),
        frameon=False,
        fontsize=SMALL,
        labelcolor=INK,
        borderaxespad=0,
        borderpad=0.3,
        labelspacing=0.4,
    )
    for place, label, is_lit in zip(left, attention.queries, attends, strict=True):
        _text(axes, -0.035, place, _short(label), ha="right", color=INK if is_lit else FAINT)
    for place, label in zip(right, attention.keys, strict=True):
        _text(axes, 1.035, place, _short(label))


def rendered(figure: Figure, file_format: str) -> bytes:
    """A figure as a png or svg file. In a png, characters that no font has are boxes; see `fonts_for`."""
    stream = BytesIO()
    settings: dict[Any, Any] = {"svg.hashsalt": "aiayn", "svg.fonttype": "none"}  # text stays text
    details: dict[str, Any] = {"metadata": {"Date": None}}
    if file_format == "png":
        details = {"metadata": {"Software": None}, "pil_kwargs": {"compress_level": 0}}
    dpi = min(DPI, MOST_PIXELS / max(figure.get_size_inches()))
    with rc_context(settings), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r"Glyph .* missing from font|Matplotlib currently does not support")
        figure.savefig(stream, format=file_format, dpi=dpi, bbox_inches="tight", pad_inches=0.12, **details)
    if file_format != "png":
        return stream.getvalue()
    palette = BytesIO()  # 256 colours look the same in a fourth of the bytes
    picture = Image.open(stream).convert("RGB")
    picture.quantize(256, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(
        palette, format="png", optimize=True
    )
    return palette.getvalue()


def _panels(
    rows: int, columns: int, size: tuple[float, float], gaps: tuple[float, float]
) -> tuple[Figure, NDArray[Any]]:
    """A figure that its panels fill, and these, `[rows, columns]`, without axes; size and gaps in inches."""
    across, down = (
        count * each + (count - 1) * gap for count, each, gap in zip((columns, rows), size, gaps, strict=True)
    )
    figure = Figure(figsize=(across, down))
    axes = figure.subplots(rows, columns, squeeze=False)
    figure.subplots_adjust(0, 0, 1, 1, wspace=gaps[0] / size[0], hspace=gaps[1] / size[1])
    for panel in axes.flat:
        panel.set_axis_off()
    return figure, axes


def _labels(names: Sequence[str], step: int | None) -> tuple[range, list[str]]:
    """Places and names of every `step`-th label; without a step of none."""
    places = range(0, len(names) if step else 0, step or 1)
    return places, [_short(names[place]) for place in places]


def _title(figure: Figure, attention: Map, rest: str, sides: tuple[str, str], *, above: float) -> None:
    """Name the kind of attention, and which side attends to which, some inches above the panels."""
    note = NOTES[attention.kind].format(*sides)
    height = figure.get_size_inches()[1]
    figure.text(0, 1 + (above + 0.18) / height, TITLES[attention.kind] + rest, fontsize=10.5, weight="bold", color=INK)
    figure.text(0, 1 + above / height, note, fontsize=SMALL + 0.5, color=SOFT)


def _text(axes: Axes, x: float, y: float, text: str, **style: Any) -> None:
    settings: dict[str, Any] = {"va": "center", "fontsize": MEDIUM, "color": INK}
    axes.text(x, y, text, parse_math=False, rotation_mode="default", **(settings | style))


def _short(label: str) -> str:
    """A label without its middle if it is very long."""
    half = LONGEST_LABEL // 2
    return label if len(label) <= LONGEST_LABEL else f"{label[:half]}…{label[-half + 1 :]}"


def _cut(items: Sequence[Item], size: int) -> list[Sequence[Item]]:
    """Pieces of `size` items, the last one shorter."""
    return [items[start : start + size] for start in range(0, len(items), size)]
