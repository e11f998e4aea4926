"""Plans that are frozen for runs that are there already."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from aiayn.reports.registered import ANALYSIS
from aiayn.reports.reported_runs import finished_run
from aiayn.runs.provenance import Code
from aiayn.runs.registrations import PlannedRow, Registration, StudyPlan


def freeze(
    made: Mapping[str, Mapping[int, Path]],
    folder: Path,
    *,
    looks: bool = False,
    claims: Mapping[str, Any] | None = None,
    powers: Mapping[str, float | None] | None = None,
) -> None:
    """Freeze the study "heads" of finished runs, by row and seed, below a folder of runs; it claims something."""
    rows = {}
    for row, by_seed in made.items():
        run = finished_run(by_seed[1])
        assert run is not None
        names = {seed: str(path.relative_to(folder)) for seed, path in by_seed.items()}
        rows[row] = PlannedRow((f"experiment=table3/{row}",), run.settings, names)
    primary = [dict(zip(("better", "worse"), made, strict=False), effect=0.1)]
    claims = claims or {"differ": {"id": "differ", "statement": "They differ.", "primary": primary}}
    plan = StudyPlan(base="base", rows=rows, looks=looks, claims=claims, analysis=ANALYSIS)
    time, code = "2020-01-01T00:00:00+00:00", Code(None, None, None)
    Registration("heads", plan, time, code, "aiayn train", None, dict(powers or {})).write(folder)
