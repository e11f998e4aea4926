"""The curves of a run: metrics.jsonl, thinned to what a screen can show."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

METRICS: Mapping[str, str] = {
    "val/ppl": "Perplexity on dev",
    "val/bleu": "BLEU on a sample of dev",
    "val/f1": "F1 on a sample of dev",
    "train/loss": "Training loss",
}
"""Titles of the curves, by their keys in metrics.jsonl."""

MOST_POINTS = 200
"""Of one curve: more than the eye tells apart, and little to load with sixty runs."""

DIGITS = 5
"""Significant digits that are kept."""


@dataclass(frozen=True)
class Curve:
    """One metric of one run."""

    steps: tuple[int, ...]
    """Optimizer steps, ascending."""
    values: tuple[float, ...]
    """As many, all finite."""


def read_curves(metrics: Path, *, most: int = MOST_POINTS) -> dict[str, Curve]:
    """The curves of a run, by metric; those without a point are left out.

    A file that is being written may end in half a line; values that JSON could not express are gaps.

    Args:
        metrics: metrics.jsonl, which may not be there yet.
        most: points of a curve.
    """
    points: dict[str, list[tuple[int, float]]] = {metric: [] for metric in METRICS}
    lines = metrics.read_text(encoding="utf-8", errors="replace").split("\n") if metrics.is_file() else []
    for line in lines:
        try:
            row = json.loads(line)
            step = int(row["step"])
        except (ValueError, KeyError, TypeError):
            continue
        for metric, found in points.items():
            value = row.get(metric)
            if isinstance(value, int | float) and math.isfinite(value):
                found.append((step, float(value)))
    return {metric: _curve(found, most) for metric, found in points.items() if found}


def _curve(points: Sequence[tuple[int, float]], most: int) -> Curve:
    steps, values = zip(*points, strict=True)
    kept = thinned(values, most)
    return Curve(tuple(steps[place] for place in kept), tuple(float(f"{values[place]:.{DIGITS}g}") for place in kept))


def thinned(values: Sequence[float], most: int) -> list[int]:
    """The places of a curve that show its shape: its ends, and the lowest and highest of each equal part.

    Args:
        values: finite.
        most: places, at least 4.

    Returns:
        Ascending; all of them where there are no more than `most`.
    """
    assert most >= 4, "two ends, a lowest and a highest"
    count = len(values)
    if count <= most:
        return list(range(count))
    parts = (most - 2) // 2
    kept = {0, count - 1}
    for part in range(parts):
        # The places between the ends, cut into parts that differ by one place at most; none is empty.
        within = range(1 + part * (count - 2) // parts, 1 + (part + 1) * (count - 2) // parts)
        kept |= {min(within, key=values.__getitem__), max(within, key=values.__getitem__)}
    return sorted(kept)
