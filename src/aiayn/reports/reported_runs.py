"""The runs of the ledger as reports read them, and their choice."""

import fnmatch
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from aiayn.config.freeze import frozen_content
from aiayn.config.identity import run_settings
from aiayn.config.report_schema import OnlyComparedConfig
from aiayn.errors import UserError
from aiayn.evaluation.sentences import SentenceScores
from aiayn.evaluation.significance import Floats, sentence_columns
from aiayn.runs.directory import RunDirectory
from aiayn.runs.evaluations import Evaluation
from aiayn.runs.ledger import Entry, State, read_entry, read_results
from aiayn.runs.record import Record, SplitScores
from aiayn.system import files

logger = logging.getLogger("aiayn")

FINGERPRINT_DIGITS = 12
"""Shown of a fingerprint."""


@dataclass(frozen=True)
class RunProvenance:
    """A run of a report, in a document for programs."""

    run: Path
    """Run directory."""
    state: State
    """State, as in the ledger."""
    experiment: str
    """The experiment."""
    seed: int
    """The seed."""
    scale: str
    """The scale."""
    data: str
    """The corpus."""
    data_fingerprint: str | None
    """Checksum of the prepared corpus; None if it was not prepared."""
    commit: str | None
    """Commit of the checkout; None outside one."""
    dirty: bool | None
    """Whether there were uncommitted changes, untracked files included."""
    patch: str | None
    """The digest of these changes; None if there are none, or they cannot be read."""
    precision: str | None
    """Precision of training in Lightning's notation."""
    tf32: bool | None
    """Whether products in single precision were TensorFloat-32."""
    packages: str | None
    """Digest of the installed packages."""
    version: str | None
    """Version of the installed package; None in a checkout."""


@dataclass(frozen=True)
class ReportedRun:
    """A run of the ledger, as reports read it."""

    entry: Entry
    record: Record

    @property
    def path(self) -> Path:
        """Its directory."""
        return self.entry.directory.path

    @cached_property
    def content(self) -> Mapping[str, Any]:
        """Its frozen configuration."""
        content = frozen_content(self.entry.directory.config)
        if not {"data", "model"} <= content.keys():
            raise UserError(f"{self.entry.directory.config}: not the configuration of a run (no data or no model)")
        return content

    @cached_property
    def settings(self) -> dict[str, Any]:
        """Everything in its configuration that can change a result, except the seed."""
        return run_settings(self.content, fidelity=self.record.fidelity)

    @property
    def sweeps(self) -> Sequence[str]:
        """The sweeps that asked for it."""
        return *self.entry.directory.sweeps, (self.content.get("identity") or {}).get("sweep") or ""

    def scores(self, split: str) -> SplitScores | None:
        """Of a split; None until the run has finished."""
        return self.record.scores.get(split) if self.entry.state is State.finished else None

    def score(self, split: str, name: str) -> float | None:
        """One score of a split, named as in `SplitScores.by_definition`; None if it is not there."""
        scores = self.scores(split)
        found = None if scores is None else scores.by_definition.get(name)
        return None if found is None else found.score

    @property
    def test(self) -> SplitScores | None:
        """The scores of the test set; None until the run has finished."""
        return self.scores("test")

    def sentences(self, split: str) -> list[SentenceScores]:
        """The scores of each sentence of a split.

        Raises:
            UserError: their file is missing or damaged.
        """
        return Evaluation(self.entry.directory, self.record, self.record.scores, str(self.path)).sentences(split)

    def columns(self, split: str) -> Floats:
        """The same as an array, see `sentence_columns`; read once."""
        if split not in self._columns:
            self._columns[split] = sentence_columns(self.sentences(split))
        return self._columns[split]

    @cached_property
    def _columns(self) -> dict[str, Floats]:
        return {}

    def read(self, split: str | None) -> None:
        """Read what reports are made of; UserError names the file that is damaged, and the remedy."""
        _ = self.settings
        if split is not None and self.scores(split) is not None:
            self.columns(split)

    @property
    def conditions(self) -> dict[str, str]:
        """The scale and the corpus, by the key below `only` that chooses them."""
        fingerprint = (self.record.data_fingerprint or "not prepared")[:FINGERPRINT_DIGITS]
        return {"scale": self.record.scale, "data": f"{self.record.data} ({fingerprint})"}

    @property
    def dev_conditions(self) -> dict[str, str]:
        """The scored development set and the signature of BLEU."""
        dev = self.record.scores["dev"]
        return {"split": f"dev, {dev.sentences:,} sentences", dev.bleu_name: dev.quality.signature}

    @property
    def provenance(self) -> "RunProvenance":
        """The run in a document for programs."""
        record = self.record
        chosen = {name: getattr(record, name) for name in ("experiment", "seed", "scale", "data", "data_fingerprint")}
        return RunProvenance(self.path, self.entry.state, **chosen, **vars(record.origin))


def finished_run(path: Path) -> ReportedRun | None:
    """The run of a directory; None if it has not finished, or is a trial."""
    directory = RunDirectory(path)
    if not files.is_file(directory.record):
        return None
    entry = read_entry(directory)
    return ReportedRun(entry, entry.record) if entry.state is State.finished and entry.record else None


Run = TypeVar("Run", bound=ReportedRun)


def runs_of(kind: type[Run], entries: Iterable[Entry], experiments: Sequence[str]) -> list[Run]:
    """The runs of these experiments, in their order and by seed."""
    found = [kind(entry, entry.record) for entry in entries if entry.record and entry.record.experiment in experiments]
    return sorted(found, key=lambda run: (experiments.index(run.record.experiment), run.record.seed))


def readable_runs(found: Iterable[Run], split: str | None = None) -> Iterator[Run]:
    """The runs whose configuration, and scores of a split's sentences, can be read; a line is logged for each other."""
    for run in found:
        try:
            run.read(split)
        except UserError as error:
            logger.warning("left out: %s", error)
        else:
            yield run


def is_chosen(record: Record, *, scale: str | None, data: str | None) -> bool:
    """Whether a run is of a scale and on a corpus, by name or first digits of the fingerprint; None: any."""
    fingerprint = record.data_fingerprint or ""
    has_data = data is None or record.data == data or (bool(data) and fingerprint.startswith(data))
    return has_data and scale in (None, record.scale)


def is_asked_for(run: ReportedRun, only: OnlyComparedConfig) -> bool:
    """Whether a run is chosen by scale, corpus, experiment and sweep; `like` is ignored."""
    if not is_chosen(run.record, scale=only.scale, data=only.data):
        return False
    return _any_matches([run.record.experiment], only.experiment) and _any_matches(run.sweeps, only.sweep)


def _any_matches(names: Iterable[str], asked: str | Sequence[str] | None) -> bool:
    """Whether a name matches a pattern or one of several; None matches any."""
    patterns = [asked or "*"] if isinstance(asked, str | None) else asked
    return any(fnmatch.fnmatchcase(name, pattern) for name in names for pattern in patterns)


def choose(found: Sequence[Run], folder: Path, *, scale: str | None, data: str | None) -> list[Run]:
    """The runs of a scale and on a corpus.

    Raises:
        UserError: there are runs, and none is chosen.
    """
    chosen = [run for run in found if is_chosen(run.record, scale=scale, data=data)]
    if found and not chosen:
        known = sorted({", ".join(f"{key} {value}" for key, value in run.conditions.items()) for run in found})
        stated = {"only.scale": scale, "only.data": data}
        asked = ", ".join(f"{key}={value}" for key, value in stated.items() if value is not None)
        raise UserError(f"{asked}: no such run below {folder}; there are {'; '.join(known)}")
    return chosen


def read_runs(
    kind: type[Run], folder: Path, experiments: Sequence[str], *, scale: str | None, data: str | None
) -> list[Run]:
    """The runs of some experiments below a folder, which may be missing, whose scores on test can be read.

    Raises:
        UserError: there are such runs, and none is of the scale and on the corpus.
    """
    entries = read_results(folder, with_warnings=True) if files.is_dir(folder) else []
    chosen = choose(runs_of(kind, entries, experiments), folder, scale=scale, data=data)
    return list(readable_runs(chosen, "test"))
