"""The data of the page's figures, as JSON."""

import math
from typing import Any

from aiayn.paper.claims import Metric
from aiayn.paper.tables import load_table3
from aiayn.reports.page.attention_maps import PackedMaps
from aiayn.reports.page.content import PageContent, RunContent
from aiayn.reports.page.curves import METRICS
from aiayn.reports.tables.table3_rows import Line, Measurement, settings_text

DIGITS = 5
"""Significant digits of numbers that are drawn."""


def figure_data(content: PageContent) -> dict[str, Any]:
    """Rows, runs and curves for the page's script; numbers that JSON cannot express are null."""
    drawn = {metric for run in content.runs for metric in run.curves}
    return {
        "rows": [_row(line, content.runs) for line in content.report.lines],
        "runs": [_run(run) for run in content.runs],
        "metrics": {metric: title for metric, title in METRICS.items() if metric in drawn},
        "sameScale": content.report.conditions.get("scale") == "paper",
    }


def attention_data(maps: PackedMaps) -> dict[str, Any]:
    """The maps of one run for the page's script."""
    return {
        "step": maps.step,
        "sentences": [
            {
                "source": sentence.source,
                "target": sentence.target,
                "read": sentence.read,
                "kinds": {
                    kind: {"layers": weights.layers, "heads": weights.heads, "packed": weights.packed}
                    for kind, weights in sentence.weights.items()
                },
            }
            for sentence in maps.sentences
        ],
    }


def parameters_of(line: Line) -> float | None:
    """The paper's count, in millions; a blank cell means as base."""
    cell = line.row.parameters if line.row.parameters.printed else load_table3().row("base").parameters
    return cell.value


def _row(line: Line, runs: tuple[RunContent, ...]) -> dict[str, Any]:
    base = load_table3().row("base")
    metrics: dict[str, dict[str, Any]] = {
        metric.value: {
            "paper": line.row.cell(metric).number,
            "paperDifference": _rounded(line.row.cell(metric).number - base.cell(metric).number),
            **_measured(line.measured.get(metric)),
        }
        for metric in Metric
    }
    return {
        "id": line.row.id,
        "label": line.row.label if line.row.group == "base" else settings_text(line),
        "group": line.row.group,
        "anchor": next((run.anchor for run in runs if run.row == line.row.id), None),
        "paperParameters": parameters_of(line),
        "parameters": None if line.parameters is None else _rounded(line.parameters / 1e6),
        **metrics,
    }


def _measured(measurement: Measurement | None) -> dict[str, Any]:
    if measurement is None:
        return {"ours": None, "difference": None}
    interval = measurement.difference
    return {
        "ours": _rounded(measurement.value),
        "difference": None if interval is None else [*map(_rounded, (interval.estimate, interval.low, interval.high))],
    }


def _run(run: RunContent) -> dict[str, Any]:
    return {
        "anchor": run.anchor,
        "title": run.title,
        "row": run.row,
        "group": run.group,
        "steps": None if run.record is None else run.record.max_steps,
        "curves": {metric: [curve.steps, curve.values] for metric, curve in run.curves.items()},
    }


def _rounded(value: float) -> float | None:
    return float(f"{value:.{DIGITS}g}") if math.isfinite(value) else None
