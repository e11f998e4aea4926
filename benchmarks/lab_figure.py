"""A figure of curves in panels, with labels at their ends: SVG that is the same for the same numbers."""

import math
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from aiayn.reports.numbers import signed

COLUMNS, WIDTH, HEIGHT = 2, 470, 214
"""Panels side by side, and the size of each in pixels."""

LEFT, RIGHT, TOP, BOTTOM = 58, 170, 30, 30
"""Margins of a panel's axes; the right one has the bars and the labels."""

BAR, LABEL = 9, 13
"""The distances of bars and of labels from each other."""

INK, SOFT, FAINT = "#222222", "#595959", "#d5d5d5"

COLOURS = ("#332288", "#b04a5a", "#117733")
DASHES = ("none", "6 2", "2 2")
"""Of the lines of a panel, so that they differ in grey too."""


@dataclass(frozen=True)
class Line:
    """A curve, and the estimate at its end."""

    name: str
    points: Sequence[tuple[int, float]]
    """Steps and values."""
    estimate: float
    low: float
    high: float


@dataclass(frozen=True)
class Panel:
    """Curves on common axes."""

    title: str
    steps: Sequence[int]
    """Those named below the horizontal axis."""
    lines: Sequence[Line]


def figure(panels: Sequence[Panel], description: str) -> str:
    """All panels."""
    width, height = COLUMNS * WIDTH, math.ceil(len(panels) / COLUMNS) * HEIGHT
    frame = {"xmlns": "http://www.w3.org/2000/svg", "viewBox": f"0 0 {width} {height}"}
    style = {"font-family": "system-ui, sans-serif", "font-size": "11", "role": "img", "aria-label": description}
    size = {"width": str(width), "height": str(height)}
    drawing = ET.Element("svg", frame | style | size)
    ET.SubElement(drawing, "rect", {"fill": "#ffffff"} | size)
    for n, panel in enumerate(panels):
        place = f"translate({n % COLUMNS * WIDTH} {n // COLUMNS * HEIGHT})"
        group = ET.SubElement(drawing, "g", {"transform": place})
        group.tail = "" if panel is panels[-1] else "\n"
        _draw(panel, group)
    return ET.tostring(drawing, encoding="unicode", short_empty_elements=False) + "\n"


def _draw(panel: Panel, group: ET.Element) -> None:
    values = [value for line in panel.lines for value in (*(y for _, y in line.points), line.low, line.high)]
    ticks = _ticks(min(0.0, *values), max(0.0, *values))
    decimals = max(0, -math.floor(math.log10(ticks[1] - ticks[0]) + 1e-9))  # as many as tell ticks apart
    first, last = min(step for line in panel.lines for step, _ in line.points), max(panel.steps)
    right, bottom = WIDTH - RIGHT, HEIGHT - BOTTOM
    edge = right + BAR * (len(panel.lines) + 1)

    def across(step: int) -> float:
        return LEFT + (right - LEFT) * (step - first) / (last - first)

    def up(value: float) -> float:
        return bottom - (bottom - TOP) * (value - ticks[0]) / (ticks[-1] - ticks[0])

    _text(group, LEFT, TOP - 12, panel.title, INK, font_weight="600")
    for value in ticks:
        colour = SOFT if value == 0 else FAINT
        _rule(group, LEFT, up(value), edge, up(value), {"stroke": colour})
        _text(group, LEFT - 6, up(value) + 4, signed(value, decimals), SOFT, text_anchor="end")
    _text(group, LEFT, bottom + 17, "steps", SOFT)
    for step in panel.steps:
        _rule(group, across(step), bottom, across(step), bottom + 4, {"stroke": SOFT})
        _text(group, across(step), bottom + 17, f"{step:,}", SOFT, text_anchor="middle")
    heights = _apart([up(line.estimate) for line in panel.lines], LABEL)
    for n, (line, height) in enumerate(zip(panel.lines, heights, strict=True)):
        colour, end = COLOURS[n], right + BAR * (n + 1)
        path = " ".join(f"{across(step):.1f},{up(value):.1f}" for step, value in line.points)
        style = {"stroke": colour, "stroke-width": "1.8"}
        shape = {"points": path, "fill": "none", "stroke-dasharray": DASHES[n], "stroke-linejoin": "round"}
        ET.SubElement(group, "polyline", shape | style)
        _rule(group, end, up(line.low), end, up(line.high), style)
        place = {"cx": f"{end:.1f}", "cy": f"{up(line.estimate):.1f}"}
        ET.SubElement(group, "circle", place | {"r": "3", "fill": colour})
        _text(group, edge + 5, height + 4, f"{line.name} {signed(line.estimate, 3)}", colour)


def _ticks(low: float, high: float) -> list[float]:
    """Round values at equal distances, three to six of them, from below the lowest to above the highest."""
    size = 10 ** math.floor(math.log10(high - low))
    step = next(size * part for part in (0.1, 0.2, 0.5, 1, 2, 5) if (high - low) / (size * part) <= 4)
    return [step * n for n in range(math.floor(low / step), math.ceil(high / step) + 1)]


def _apart(places: Sequence[float], distance: float) -> list[float]:
    """Places that are moved down as far as needed to be so far apart."""
    moved = [*places]
    for above, below in pairwise(sorted(range(len(places)), key=lambda n: places[n])):
        moved[below] = max(moved[below], moved[above] + distance)
    return moved


def _rule(group: ET.Element, x1: float, y1: float, x2: float, y2: float, style: Mapping[str, str]) -> None:
    ends = {"x1": x1, "y1": y1, "x2": x2, "y2": y2}
    ET.SubElement(group, "line", {name: f"{place:.1f}" for name, place in ends.items()} | dict(style))


def _text(group: ET.Element, x: float, y: float, text: str, colour: str, **style: str) -> None:
    stated = {name.replace("_", "-"): value for name, value in style.items()}
    place = {"x": f"{x:.1f}", "y": f"{y:.1f}"}
    ET.SubElement(group, "text", place | {"fill": colour} | stated).text = text
