"""The data of the page's figures, as JSON."""

import math
from collections.abc import Sequence
from typing import Any

from aiayn.extensions.page.content import PageContent, RunContent
from aiayn.extensions.page.run_data import DIGITS, METRICS
from aiayn.paper.claims import Metric
from aiayn.paper.tables import load_table3
from aiayn.reports.tables.table3_rows import Line, Measurement, printed_to_base, settings_text


def figure_data(content: PageContent) -> dict[str, Any]:
    """Rows, runs and curves for the page's script; numbers that JSON cannot express are null."""
    drawn = {metric for run in content.runs for metric in run.curves}
    return {
        "rows": [_row(line, content.runs) for line in content.report.lines],
        "runs": [
            {
                "anchor": run.anchor,
                "title": run.title,
                "row": run.row,
                "group": run.group,
                "steps": run.record and run.record.max_steps,
                "curves": {metric: [curve.steps, curve.values] for metric, curve in run.curves.items()},
            }
            for run in content.runs
        ],
        "metrics": {metric: title for metric, title in METRICS.items() if metric in drawn},
        "sameScale": content.report.conditions.get("scale") == "paper",
    }


def _row(line: Line, runs: Sequence[RunContent]) -> dict[str, Any]:
    row, base = line.row, load_table3().row("base")
    return {
        "id": row.id,
        "label": row.label if row.group == "base" else settings_text(line),
        "group": row.group,
        "anchor": next((run.anchor for run in runs if run.row == row.id), None),
        "paperParameters": (row.parameters if row.parameters.printed else base.parameters).value,  # blank: as base
        "parameters": None if line.parameters is None else _rounded(line.parameters / 1e6),
        **{
            metric.value: {
                "paper": row.cell(metric).number,
                "paperDifference": _rounded(printed_to_base(row, metric)),
                **_measured(line.measured.get(metric)),
            }
            for metric in Metric
        },
    }


def _measured(measurement: Measurement | None) -> dict[str, Any]:
    if measurement is None:
        return {"ours": None, "difference": None}
    effect = measurement.difference
    ends = None
    if effect is not None:
        ends = [None if end is None else _rounded(end) for end in (effect.estimate, effect.low, effect.high)]
    return {"ours": _rounded(measurement.value), "difference": ends}


def _rounded(value: float) -> float | None:
    return float(f"{value:.{DIGITS}g}") if math.isfinite(value) else None
