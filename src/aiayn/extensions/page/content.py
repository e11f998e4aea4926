"""The content of a page, read from runs: Table 3, and for each run its changes, curves, samples and attention."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from aiayn.config.freeze import frozen_content
from aiayn.config.report_schema import OnlyConfig
from aiayn.errors import UserError
from aiayn.extensions.page.run_data import Curve, Sample, find_corpus, read_attention, read_curves, read_samples
from aiayn.paper.tables import load_table3
from aiayn.reports.comparability import comparable_runs
from aiayn.reports.reported_runs import is_chosen
from aiayn.reports.row import paper_row
from aiayn.reports.run import facts
from aiayn.reports.status import run_settings, scores_of, steps_of
from aiayn.reports.tables.table3_results import Report, chosen_entries, report_of
from aiayn.runs.ledger import Entry, State
from aiayn.runs.record import Record
from aiayn.system.progress import Bar

Found = TypeVar("Found")

GROUPS = ("base", "A", "B", "C", "D", "E", "big", "own")
"""Of rows, in the paper's order; own is for other experiments."""


@dataclass(frozen=True)
class RunContent:
    """One run."""

    entry: Entry
    folder: str
    """Below the folder of runs."""
    row: str
    """Its row in the paper, or its experiment."""
    group: str
    """Of the row, or own."""
    changes: Mapping[str, tuple[str, str]]
    """Settings in which it differs from base: base's and its own value."""
    compared_with: str | None
    """The run of base that `changes` are against; None without one."""
    curves: Mapping[str, Curve]
    """By metric."""
    samples: tuple[Sample, ...]
    attention: Mapping[str, Any] | None
    """See `read_attention`."""
    notes: tuple[str, ...]
    """Why something is missing."""

    @property
    def anchor(self) -> str:
        """Its id in the page."""
        return f"run-{re.sub(r'[^A-Za-z0-9_]+', '-', self.folder)}"

    @property
    def record(self) -> Record | None:
        """None if it cannot be read."""
        return self.entry.record

    @property
    def title(self) -> str:
        """Row and seed."""
        return self.row if self.record is None else f"{self.row}, seed {self.record.seed}"

    @property
    def result(self) -> str:
        """Its scores, or the steps that it has done."""
        return " · ".join(f"{name} {score}" for name, score in scores_of(self.entry).items()) or steps_of(self.entry)

    @property
    def facts(self) -> dict[str, str]:
        """Of its record, without the state, which its heading has."""
        return {} if self.record is None else {"folder": self.folder, **facts(self.record), "status": ""}


@dataclass(frozen=True)
class PageContent:
    """The whole page."""

    report: Report
    runs: tuple[RunContent, ...]
    """In the paper's order and by seed, then other experiments."""
    read: str
    """When, UTC."""

    @property
    def groups(self) -> list[str]:
        """Of the rows and the runs."""
        there = {line.row.group for line in self.report.lines} | {run.group for run in self.runs}
        return [group for group in GROUPS if group in there]

    def runs_of(self, row: str) -> tuple[list[RunContent], list[RunContent]]:
        """The runs of a row: those whose numbers the table has, and the others."""
        of_row = [run for run in self.runs if run.row == row and run.record is not None]
        counted = [run for run in of_row if run.entry.directory.path in self.report.runs]
        return counted, [run for run in of_row if run not in counted]


def read_content(runs: Path, *, cache: Path, only: OnlyConfig, study: str | None = None) -> PageContent:
    """The table and the runs at this moment; files that have not changed since an earlier call are not read again.

    Args:
        runs: the folder of runs.
        cache: where to look for corpora first; runs name theirs too.
        only: the runs to show.
        study: show only runs of this pre-registered study; None: no choice by study.

    Raises:
        UserError: there is no such folder, runs of the table do not compare, or their scores cannot be read.
    """
    entries, chosen = chosen_entries(runs, study)
    comparable = comparable_runs(entries, runs, scale=only.scale, data=only.data, like=only.like)
    report = report_of(comparable, runs, chosen)
    in_table = {run.path for run in comparable.runs}
    shown = sorted((entry for entry in entries if _is_shown(entry, in_table, only)), key=_order)
    bases: dict[tuple[str, str], Entry] = {}
    for entry in shown:
        if entry.record and _row_and_group(entry)[1] == "base" and run_settings(entry):
            bases.setdefault((entry.record.scale, entry.record.data), entry)
    found = []
    with Bar("read", total=len(shown), unit=" runs") as bar:
        for entry in shown:
            base = bases.get((entry.record.scale, entry.record.data)) if entry.record else None
            found.append(_run(entry, base, runs, cache))
            bar.advance()
    return PageContent(report, tuple(found), read=f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC")


def _is_shown(entry: Entry, in_table: set[Path], only: OnlyConfig) -> bool:
    """Runs of the table, other experiments, and runs that cannot be read."""
    if entry.record is None or entry.directory.path in in_table:
        return True
    is_own = paper_row(entry.record.experiment) is None
    return is_own and is_chosen(entry.record, scale=only.scale, data=only.data)


def _run(entry: Entry, base: Entry | None, runs: Path, cache: Path) -> RunContent:
    notes: list[str] = []
    row, group = _row_and_group(entry)
    compared = base if run_settings(entry) else None
    return RunContent(
        entry,
        folder=str(entry.directory.path.relative_to(runs)),
        row=row,
        group=group,
        changes={} if compared is None else _changes(run_settings(compared), run_settings(entry)),
        compared_with=None if compared is None else str(compared.directory.path.relative_to(runs)),
        curves=_or_note(lambda: read_curves(entry.directory), notes) or {},
        samples=_or_note(lambda: _samples(entry, cache), notes) or (),
        attention=_or_note(lambda: read_attention(entry.directory.attention), notes),
        notes=tuple(notes),
    )


def _samples(entry: Entry, cache: Path) -> tuple[Sample, ...]:
    record = entry.record
    if record is None or entry.state is not State.finished or "dev" not in record.scores:
        return ()
    own_cache = Path(frozen_content(entry.directory.config)["paths"]["cache"])
    data = find_corpus(record.data_fingerprint or "", (cache, own_cache))
    modified = entry.directory.record.stat().st_mtime_ns
    return read_samples(entry.directory.path / record.scores["dev"].hypotheses, modified, data)


def _or_note(read: Callable[[], Found], notes: list[str]) -> Found | None:
    """Keep the reason where a file is damaged: the other runs are shown nevertheless."""
    try:
        return read()
    except UserError as error:
        notes.append(str(error))
        return None


def _changes(base: Mapping[str, Any], settings: Mapping[str, Any]) -> dict[str, tuple[str, str]]:
    keys = sorted(key for key in base.keys() | settings.keys() if base.get(key) != settings.get(key))
    return {key: (_text(base, key), _text(settings, key)) for key in keys}


def _text(settings: Mapping[str, Any], key: str) -> str:
    if key not in settings:
        return "not there"
    value = settings[key]
    return "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _row_and_group(entry: Entry) -> tuple[str, str]:
    if entry.record is None:
        return entry.directory.path.name, "own"
    row = paper_row(entry.record.experiment)
    return (entry.record.experiment, "own") if row is None else (row.id, row.group)


def _order(entry: Entry) -> tuple[int, str, int]:
    """As in the paper, and by seed; then other experiments by name."""
    row, group = _row_and_group(entry)
    rows = [each.id for each in load_table3().rows]
    return len(rows) if group == "own" else rows.index(row), row, entry.record.seed if entry.record else 0
