"""A figure of curves in panels, with labels at their ends: SVG that is the same for the same numbers."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from aiayn.extensions.page.markup import Html, joined, tag
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
    drawn = (
        tag("g", *_panel(panel), transform=f"translate({n % COLUMNS * WIDTH} {n // COLUMNS * HEIGHT})")
        for n, panel in enumerate(panels)
    )
    size = {"width": COLUMNS * WIDTH, "height": math.ceil(len(panels) / COLUMNS) * HEIGHT}
    frame = {"xmlns": "http://www.w3.org/2000/svg", "viewBox": f"0 0 {size['width']} {size['height']}"}
    style = {"font_family": "system-ui, sans-serif", "font_size": "11", "role": "img", "aria_label": description}
    background = tag("rect", fill="#ffffff", **size)
    return tag("svg", background, joined(drawn, Html("\n")), **frame, **style, **size) + "\n"


def _panel(panel: Panel) -> Iterator[Html]:
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

    yield _text(LEFT, TOP - 12, panel.title, INK, font_weight="600")
    for value in ticks:
        colour = SOFT if value == 0 else FAINT
        yield _rule(LEFT, up(value), edge, up(value), stroke=colour)
        yield _text(LEFT - 6, up(value) + 4, signed(value, decimals), SOFT, text_anchor="end")
    yield _text(LEFT, bottom + 17, "steps", SOFT)
    for step in panel.steps:
        yield _rule(across(step), bottom, across(step), bottom + 4, stroke=SOFT)
        yield _text(across(step), bottom + 17, f"{step:,}", SOFT, text_anchor="middle")
    heights = _apart([up(line.estimate) for line in panel.lines], LABEL)
    for n, (line, height) in enumerate(zip(panel.lines, heights, strict=True)):
        colour, end = COLOURS[n], right + BAR * (n + 1)
        path = " ".join(f"{across(step):.1f},{up(value):.1f}" for step, value in line.points)
        style: dict[str, str | float] = {"stroke": colour, "stroke_width": 1.8}
        yield tag("polyline", points=path, fill="none", stroke_dasharray=DASHES[n], stroke_linejoin="round", **style)
        yield _rule(end, up(line.low), end, up(line.high), **style)
        yield tag("circle", cx=f"{end:.1f}", cy=f"{up(line.estimate):.1f}", r="3", fill=colour)
        yield _text(edge + 5, height + 4, f"{line.name} {signed(line.estimate, 3)}", colour)


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


def _rule(x1: float, y1: float, x2: float, y2: float, **style: str | float) -> Html:
    return tag("line", x1=f"{x1:.1f}", y1=f"{y1:.1f}", x2=f"{x2:.1f}", y2=f"{y2:.1f}", **style)


def _text(x: float, y: float, text: str, colour: str, **style: str) -> Html:
    return tag("text", text, x=f"{x:.1f}", y=f"{y:.1f}", fill=colour, **style)
