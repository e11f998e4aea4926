"""Plans that are frozen for runs that are there already."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from aiayn.extensions.lab.registered import ANALYSIS
from aiayn.extensions.lab.registrations import PlannedRow, Registration, StudyPlan, StudyTerms
from aiayn.reports.reported_runs import finished_run
from aiayn.runs.provenance import Code


def planned_row(row: str, by_seed: Mapping[int, Path], folder: Path) -> PlannedRow:
    """A row of a plan: its finished runs, by seed, below a folder of runs, and the settings of the first one."""
    run = finished_run(next(iter(by_seed.values())))
    assert run is not None
    names = {seed: str(path.relative_to(folder)) for seed, path in by_seed.items()}
    return PlannedRow((f"experiment=table3/{row}",), run.settings, names)


def freeze(
    made: Mapping[str, Mapping[int, Path]],
    folder: Path,
    *,
    looks: bool = False,
    claims: Mapping[str, Any] | None = None,
    terms: StudyTerms | None = None,
    **facts: Any,
) -> None:
    """Freeze a study of finished runs, by row and seed, below a folder of runs; it claims something unless stated.

    Facts are those of the registration, such as its name, "heads" unless stated.
    """
    rows = {row: planned_row(row, by_seed, folder) for row, by_seed in made.items()}
    if claims is None:
        primary = [dict(zip(("better", "worse"), made, strict=False), effect=0.1)]
        claims = {"differ": {"id": "differ", "statement": "They differ.", "primary": primary}}
    plan = StudyPlan("base", rows, looks=looks, claims=claims, analysis=ANALYSIS, terms=terms or StudyTerms())
    time, code = "2020-01-01T00:00:00+00:00", Code(None, None, None)
    replace(Registration("heads", plan, time, code, "aiayn train", None, {}), **facts).write(folder)
