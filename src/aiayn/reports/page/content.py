"""The content of a page, from records: the table, and each run's facts, changes, curves and samples."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from aiayn.config.freeze import frozen_content
from aiayn.config.identity import result_leaves
from aiayn.config.report_schema import OnlyConfig
from aiayn.errors import UserError
from aiayn.paper.tables import load_table3
from aiayn.reports.comparability import comparable_runs, is_chosen
from aiayn.reports.page.attention_maps import PackedMaps, read_attention
from aiayn.reports.page.curves import Curve, read_curves
from aiayn.reports.page.samples import SPLIT, Sample, Texts, read_samples
from aiayn.reports.row import paper_row
from aiayn.reports.tables.table3 import Report, report_of
from aiayn.runs.ledger import Entry, State, read_results
from aiayn.runs.record import Record

OWN = "own"
"""The group of runs that are of no row of the paper."""

Found = TypeVar("Found")


@dataclass(frozen=True)
class Change:
    """A key in which a run's configuration differs from base's."""

    key: str
    base: str
    here: str


@dataclass(frozen=True)
class RunContent:
    """One run."""

    anchor: str
    """Its id in the page."""
    folder: str
    """Below the folder of runs."""
    row: str
    """Its row in the paper, or its experiment."""
    group: str
    """Of the row: base, A to E, big; own for all others."""
    entry: Entry
    changes: tuple[Change, ...]
    compared_with: str | None
    """The run of base that `changes` are against; None where there is none."""
    curves: Mapping[str, Curve]
    """By metric."""
    samples: tuple[Sample, ...]
    attention: PackedMaps | None
    notes: tuple[str, ...]
    """Why something is missing."""

    @property
    def record(self) -> Record | None:
        """None where it cannot be read."""
        return self.entry.record

    @property
    def title(self) -> str:
        """Row and seed."""
        return self.row if self.record is None else f"{self.row}, seed {self.record.seed}"


@dataclass(frozen=True)
class PageContent:
    """The whole page."""

    report: Report
    runs: tuple[RunContent, ...]
    """In the paper's order and by seed, then one's own."""
    written: str
    """When, UTC."""
    command: str
    """The command and version that wrote the page."""
    refresh_seconds: int | None = None
    """Seconds between two reloads; None if the page is not rewritten."""


class Reader:
    """Reads the runs below a folder, repeatedly; finished runs are read once."""

    def __init__(self, runs: Path, *, cache: Path, only: OnlyConfig, resamples: int, seed: int) -> None:
        """With the folder of runs, a cache that may hold their corpora, and the settings of the table."""
        self._runs, self._only, self._resamples, self._seed = runs, only, resamples, seed
        self._texts = Texts(cache)
        self._samples: dict[tuple[Path, int], tuple[Sample, ...]] = {}

    def read(
        self, progress: Callable[[Sequence[Entry]], Iterable[Entry]] = iter
    ) -> tuple[Report, tuple[RunContent, ...]]:
        """The table and the runs as they stand now.

        Args:
            progress: passes the runs on one by one, and may show it.

        Raises:
            UserError: there is no such folder, runs of the table do not compare, or their scores cannot be read.
        """
        entries = read_results(self._runs)
        only = self._only
        comparable = comparable_runs(entries, self._runs, scale=only.scale, data=only.data, like=only.like)
        report = report_of(comparable, resamples=self._resamples, seed=self._seed)
        of_rows = {run.path for run in comparable.runs}
        shown = sorted((entry for entry in entries if self._is_shown(entry, of_rows)), key=_order)
        settings = [_settings(entry) for entry in shown]
        bases = {
            _conditions(entry): (entry, own)
            for entry, own in zip(reversed(shown), reversed(settings), strict=True)
            if own and _row_and_group(entry)[1] == "base"
        }
        found = dict(zip(map(id, shown), settings, strict=True))
        return report, tuple(
            self._run(entry, found[id(entry)], bases.get(_conditions(entry))) for entry in progress(shown)
        )

    def _is_shown(self, entry: Entry, of_rows: set[Path]) -> bool:
        """All that are in the table, and what is of no row or cannot be read."""
        if entry.directory.path in of_rows:
            return True
        if entry.record is None or paper_row(entry.record.experiment) is not None:
            return entry.record is None
        return is_chosen(entry.record, scale=self._only.scale, data=self._only.data)

    def _run(
        self, entry: Entry, settings: Mapping[str, Any], base: tuple[Entry, Mapping[str, Any]] | None
    ) -> RunContent:
        notes: list[str] = []
        row, group = _row_and_group(entry)
        folder = str(entry.directory.path.relative_to(self._runs))
        attention = _or_note(lambda: read_attention(entry.directory.attention), notes)
        return RunContent(
            anchor=f"run-{re.sub(r'[^A-Za-z0-9_]+', '-', folder)}",
            folder=folder,
            row=row,
            group=group,
            entry=entry,
            changes=() if base is None else changes(base[1], settings),
            compared_with=None if base is None or not settings else str(base[0].directory.path.relative_to(self._runs)),
            curves=read_curves(entry.directory.metrics),
            samples=_or_note(lambda: self._samples_of(entry), notes) or (),
            attention=attention,
            notes=tuple(notes),
        )

    def _samples_of(self, entry: Entry) -> tuple[Sample, ...]:
        record = entry.record
        if record is None or entry.state is not State.finished or SPLIT not in record.scores:
            return ()
        key = (entry.directory.record, entry.directory.record.stat().st_mtime_ns)
        if key not in self._samples:
            own_cache = Path((frozen_content(entry.directory.config).get("paths") or {}).get("cache", "cache"))
            data = self._texts.of(record.data_fingerprint or "", own_cache)
            if data is None:
                raise UserError("its corpus is no longer in the cache, so sources and references are not at hand")
            self._samples[key] = read_samples(entry.directory, record, data)
        return self._samples[key]


def changes(base: Mapping[str, Any], settings: Mapping[str, Any]) -> tuple[Change, ...]:
    """The settings that differ from base's, by key."""
    keys = sorted(key for key in base.keys() | settings.keys() if base.get(key) != settings.get(key))
    return tuple(Change(key, _text(base, key), _text(settings, key)) for key in keys)


def _text(settings: Mapping[str, Any], key: str) -> str:
    if key not in settings:
        return "not there"
    value = settings[key]
    return "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _settings(entry: Entry) -> dict[str, Any]:
    """All of a run's configuration that can change a result, but for the seed; empty where it cannot be read."""
    found = _or_note(lambda: result_leaves(frozen_content(entry.directory.config)), []) or {}
    found.pop("seed", None)
    return found


def _row_and_group(entry: Entry) -> tuple[str, str]:
    if entry.record is None:
        return entry.directory.path.name, OWN
    row = paper_row(entry.record.experiment)
    return (entry.record.experiment, OWN) if row is None else (row.id, row.group)


def _conditions(entry: Entry) -> tuple[str, ...]:
    return () if entry.record is None else (entry.record.scale, entry.record.data)


def _order(entry: Entry) -> tuple[int, str, int]:
    """As in the paper, and by seed; then one's own, by name."""
    places = {row.id: place for place, row in enumerate(load_table3().rows)}
    row, group = _row_and_group(entry)
    return len(places) if group == OWN else places[row], row, 0 if entry.record is None else entry.record.seed


def _or_note(read: Callable[[], Found], notes: list[str]) -> Found | None:
    """One run with a damaged file must not keep the others from being shown."""
    try:
        return read()
    except UserError as error:
        notes.append(str(error))
        return None
