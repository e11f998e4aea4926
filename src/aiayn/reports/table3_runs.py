"""The runs that may share a column of Table 3: all alike but for what their rows print as different."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aiayn.config.freeze import frozen_content
from aiayn.config.identity import result_leaves
from aiayn.errors import UserError
from aiayn.paper.table3 import Row, Setting, load_table3
from aiayn.runs.directory import open_run
from aiayn.runs.ledger import Entry, State, read_results
from aiayn.runs.record import Record

PREFIX = "table3/"

SCALED = {
    "model.d_model": "width",
    "model.d_ff": "width",
    "model.d_k": "width",
    "model.d_v": "width",
    "model.num_layers": "depth",
    "optimization.max_steps": "steps",
}
"""The axis of the scale that each printed setting follows; all others are the same at every scale."""

FOLLOWS_STEPS = frozenset({"optimization.validation_interval"})
"""Derived from the number of steps, and so different where that is."""

FINGERPRINT_DIGITS = 12
"""Shown of a fingerprint; enough to tell corpora apart, and to choose one."""


@dataclass(frozen=True)
class RowRun:
    """One run of a row."""

    row: Row
    entry: Entry
    record: Record
    settings: Mapping[str, Any]
    """Everything in its frozen configuration that can change a result, but for the seed."""
    factors: Mapping[str, float]
    """Of its scale, by axis."""

    @property
    def path(self) -> Path:
        """Its folder."""
        return self.entry.directory.path

    @property
    def has_scores(self) -> bool:
        """Whether it counts: with the scores of translations."""
        dev = self.record.scores.get("dev")
        return self.entry.state is State.finished and dev is not None and dev.brackets is None

    @property
    def conditions(self) -> dict[str, str]:
        """What all runs of a table share, in the user's words and by the key that chooses it."""
        fingerprint = (self.record.data_fingerprint or "not prepared")[:FINGERPRINT_DIGITS]
        return {"scale": self.record.scale, "data": f"{self.record.data} ({fingerprint})"}


@dataclass(frozen=True)
class ComparableRuns:
    """Runs that may stand in one table."""

    runs: tuple[RowRun, ...]
    """Finished or not, in the paper's order and then by seed."""
    left_out: int
    """Runs of the table's rows that do not compare with these."""

    def of(self, row: Row) -> list[RowRun]:
        """The runs of one row."""
        return [run for run in self.runs if run.row.id == row.id]

    def scored(self, row: Row) -> list[RowRun]:
        """Those of them that count."""
        return [run for run in self.of(row) if run.has_scores]


def comparable_runs(runs: Path, *, scale: str | None, data: str | None, like: str | None) -> ComparableRuns:
    """The runs below a folder that make one table; arguments and errors as of `comparable_entries`."""
    return comparable_entries(read_results(runs), runs, scale=scale, data=data, like=like)


def comparable_entries(
    entries: Iterable[Entry], runs: Path, *, scale: str | None, data: str | None, like: str | None
) -> ComparableRuns:
    """The runs of a ledger that make one table.

    Args:
        entries: the ledger.
        runs: its folder, for messages.
        scale: only runs of this scale.
        data: only runs on this corpus: its name, or the first digits of its fingerprint.
        like: a run; those that do not compare with it are left out instead of refused.

    Raises:
        UserError: runs with scores do not compare, or a file cannot be read.
    """
    found = [run for entry in entries if (run := _row_run(entry)) is not None]
    chosen = [run for run in found if is_chosen(run.record, scale=scale, data=data)]
    if found and not chosen:
        there = sorted({", ".join(f"{key} {value}" for key, value in run.conditions.items()) for run in found})
        raise UserError(f"only.scale={scale}, only.data={data}: no such run below {runs}; there are {'; '.join(there)}")
    reference = _reference(chosen, like)
    if reference is None:
        return ComparableRuns((), 0)
    kept = []
    for run in chosen:
        obstacle = _obstacle(run, reference)
        if obstacle is None:
            kept.append(run)
        elif run.has_scores and like is None:
            raise UserError(obstacle)
    _refuse_twins(kept)
    order = {row.id: place for place, row in enumerate(load_table3().rows)}
    kept.sort(key=lambda run: (order[run.row.id], run.record.seed))
    return ComparableRuns(tuple(kept), len(found) - len(kept))


def _row_run(entry: Entry) -> RowRun | None:
    """A run of one of the table's rows; None for all others."""
    rows = {f"{PREFIX}{row.id}": row for row in load_table3().rows}
    if entry.record is None or entry.record.experiment not in rows:
        return None
    content = frozen_content(entry.directory.config)
    settings = {"fidelity": entry.record.fidelity, **result_leaves(content)}
    settings.pop("seed", None)
    return RowRun(rows[entry.record.experiment], entry, entry.record, settings, content.get("scale") or {})


def is_chosen(record: Record, *, scale: str | None, data: str | None) -> bool:
    """Whether a run is of the scale and on the corpus that were asked for; None asks for nothing."""
    fingerprint = record.data_fingerprint or ""
    has_data = data is None or record.data == data or (bool(data) and fingerprint.startswith(data))
    return has_data and scale in (None, record.scale)


def _reference(runs: list[RowRun], like: str | None) -> RowRun | None:
    """The run that all others are compared with: of the base row and with scores, where there is one."""
    if like is None:
        return min(runs, key=lambda run: (not run.has_scores, run.row.group != "base"), default=None)
    directory = open_run(like, key="only.like")
    for run in runs:
        if run.path.resolve() == directory.path.resolve():
            return run
    raise UserError(f"only.like={like}: not among the chosen runs of Table 3 below paths.runs")


def _obstacle(run: RowRun, reference: RowRun) -> str | None:
    """Why a run may not stand beside the reference, in one line; None where it may."""
    for key, value in run.conditions.items():
        other = reference.conditions[key]
        is_unknown = key == "data" and None in (run.record.data_fingerprint, reference.record.data_fingerprint)
        if value != other and not is_unknown:
            return _apart(run, reference, key, value, other, f"choose with only.{key}=")
    difference = _unprinted(run, reference)
    if difference is not None:
        key, own, theirs = difference
        return _apart(run, reference, key, own, theirs, "choose with only.like=<run directory>")
    if run.has_scores and reference.has_scores:
        own, theirs = (each.record.scores["dev"] for each in (run, reference))
        for key, value, other in (
            ("BLEU", own.quality.signature, theirs.quality.signature),
            ("number of dev sentences", str(own.sentences), str(theirs.sentences)),
        ):
            if value != other:
                return _apart(run, reference, key, value, other, "choose with only.like=<run directory>")
    return None


def _apart(run: RowRun, reference: RowRun, key: str, value: object, other: object, remedy: str) -> str:
    return f"{key} differs, {value} in {run.path} and {other} in {reference.path}: no column holds both; {remedy}"


def _unprinted(run: RowRun, reference: RowRun) -> tuple[str, object, object] | None:
    """A setting in which a run departs from the reference otherwise than its row does: key, its value, the other's."""
    changes = {**reference.row.changes, **run.row.changes}
    free = set(changes) | (FOLLOWS_STEPS if "optimization.max_steps" in changes else set())
    for key in sorted((run.settings.keys() | reference.settings.keys()) - free):
        value, other = run.settings.get(key, "nothing"), reference.settings.get(key, "nothing")
        if value != other:
            return key, value, other
    base = load_table3().base
    for key in changes:
        printed, printed_there = run.row.changes.get(key, base[key]), reference.row.changes.get(key, base[key])
        value, other = run.settings.get(key), reference.settings.get(key)
        if printed == printed_there:
            fits = value == other
        else:
            fits = _is_printed(key, value, other, printed, printed_there, run.factors)
        if not fits:
            return key, value, other
    return None


def _is_printed(
    key: str, value: Any, other: Any, printed: Setting, printed_there: Setting, factors: Mapping[str, float]
) -> bool:
    """Whether a value is what the row prints: at the run's scale, or in the printed proportion to the other's."""
    if key not in SCALED:
        return bool(value == printed)
    assert isinstance(printed, int)
    assert isinstance(printed_there, int)
    is_at_scale = value == max(1, round(printed * float(factors.get(SCALED[key], 1))))
    is_in_proportion = isinstance(value, int) and isinstance(other, int) and value * printed_there == other * printed
    return is_at_scale or is_in_proportion


def _refuse_twins(runs: list[RowRun]) -> None:
    """Two runs of one row and seed would count one seed twice."""
    counts = Counter((run.row.id, run.record.seed) for run in runs if run.has_scores)
    for (row_id, seed), count in counts.items():
        if count > 1:
            paths = [
                str(run.path) for run in runs if run.has_scores and (run.row.id, run.record.seed) == (row_id, seed)
            ]
            raise UserError(f"seed {seed} of {row_id} stands more than once, in {' and '.join(paths)}: remove one")
