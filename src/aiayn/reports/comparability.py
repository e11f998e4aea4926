"""Whether two runs may share a column of a report."""

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from aiayn.errors import UserError
from aiayn.paper.tables import Row, Setting, in_symbols, load_table3
from aiayn.reports.reported_runs import FINGERPRINT_DIGITS, ReportedRun, Run, choose, is_chosen, runs_of
from aiayn.runs.directory import open_run
from aiayn.runs.ledger import Entry
from aiayn.runs.record import SplitScores

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
"""Derived from the number of steps."""

MOST_KEYS = 4
"""Further differing keys that a refusal names."""


class Difference(NamedTuple):
    """Values in which two runs differ and must not."""

    key: str
    own: object
    other: object
    remedy: str = ""
    """Of this key; empty: that of the report."""

    def refusal(self, own: str, other: str, remedy: str = "") -> UserError:
        """The error that names both runs."""
        text = f"{self.key} differs, {self.own} in {own} and {self.other} in {other}"
        remedy = self.remedy or remedy
        return UserError(f"{text}: {remedy}" if remedy else text)


def condition_differences(run: ReportedRun, other: ReportedRun) -> Iterator[Difference]:
    """Scale and data; data that are not prepared yet differ from none."""
    if run.record.scale != other.record.scale:
        yield Difference("scale", run.record.scale, other.record.scale, "choose with only.scale=")
    own, theirs = run.record.data_fingerprint, other.record.data_fingerprint
    if own is not None and theirs is not None and own != theirs:
        remedy = "choose with only.data="
        if run.record.data == other.record.data:  # a name that chooses both
            remedy += f"{own[:FINGERPRINT_DIGITS]} or only.data={theirs[:FINGERPRINT_DIGITS]}"
        yield Difference("data", run.conditions["data"], other.conditions["data"], remedy)


@dataclass(frozen=True)
class RowSettings:
    """The settings of runs of a row of Table 3."""

    row: Row
    settings: Mapping[str, Any]
    """Everything that can change a result, except the seed."""
    scale: Mapping[str, float]
    """The factors of the scale, by axis."""


def setting_differences(
    run: ReportedRun | RowSettings, other: ReportedRun | RowSettings, free: Collection[str] = ()
) -> Iterator[Difference]:
    """Settings that can change a result, except the keys in `free`."""
    for key in sorted((run.settings.keys() | other.settings.keys()) - set(free)):
        own, theirs = (each.settings.get(key, "nothing") for each in (run, other))
        if own != theirs:
            yield Difference(key, own, theirs)


def score_differences(own: SplitScores, other: SplitScores, split: str) -> Iterator[Difference]:
    """The number of sentences, and the signature of BLEU or F1."""
    if own.sentences != other.sentences:
        yield Difference(f"number of {split} sentences", own.sentences, other.sentences)
    if own.quality.signature != other.quality.signature:
        name = own.quality_name.partition("_")[0]  # BLEU_none is BLEU by its signature
        yield Difference(name, own.quality.signature, other.quality.signature)


def tested_differences(run: ReportedRun, other: ReportedRun) -> Iterator[Difference]:
    """Of finished runs: the test set, and the signatures of all definitions that both have."""
    own, theirs = run.record.scores["test"], other.record.scores["test"]
    yield from score_differences(own, theirs, "test")
    for name in sorted(own.by_definition.keys() & theirs.by_definition.keys()):
        signatures = [scores.by_definition[name].signature for scores in (own, theirs)]
        if signatures[0] != signatures[1]:
            yield Difference(name, *signatures)


def check_alike(runs: Sequence[Run], differences: Callable[[Run, Run], Iterable[Difference]], remedy: str = "") -> None:
    """Refuse runs that differ from the first.

    Raises:
        UserError: naming the difference, both runs and the remedy.
    """
    for run in runs[1:]:
        for difference in differences(run, runs[0]):
            raise difference.refusal(str(run.path), str(runs[0].path), remedy)


def check_duplicate_seeds(runs: Iterable[Run], key: Callable[[Run], Hashable], remedy: str) -> None:
    """Refuse two runs of one system, named by `key`, with one seed.

    Raises:
        UserError: naming both and the remedy.
    """
    seen: dict[Hashable, Run] = {}
    for run in runs:
        first = seen.setdefault((key(run), run.record.seed), run)
        if first is not run:
            name = f"seed {run.record.seed} of {run.record.experiment}"
            raise UserError(f"{name} is there more than once, in {first.path} and {run.path}: {remedy}")


def sizes_remark(name: str, run: ReportedRun, printed: Mapping[str, Any]) -> Iterator[str]:
    """A line if a run was trained with other sizes than the paper's, `printed` by configuration key."""
    trained = {key: run.settings.get(key) for key in printed}
    if trained != dict(printed):
        yield f"{name}: trained here with {in_symbols(trained)}; in the paper with {in_symbols(printed)}"


@dataclass(frozen=True)
class RowRun(ReportedRun):
    """A run of a row of Table 3."""

    @property
    def row(self) -> Row:
        """Its row."""
        return load_table3().row(self.record.experiment.removeprefix(PREFIX))

    @property
    def row_settings(self) -> RowSettings:
        """The row and its own settings."""
        return RowSettings(self.row, self.settings, self.content.get("scale") or {})

    @property
    def dev(self) -> SplitScores | None:
        """The scores of its translations of the development set; None until it has finished."""
        dev = self.scores("dev")
        return None if dev is None or dev.brackets is not None else dev


@dataclass(frozen=True)
class ComparableRuns:
    """Runs that may stand in one Table 3."""

    runs: tuple[RowRun, ...]
    """Finished or not, in the paper's order and then by seed."""
    left_out: int
    """Runs of the table's rows that do not compare with these."""
    damaged: tuple[str, ...] = ()
    """A line for each run with a file that cannot be read: the file, and the remedy."""

    def of(self, row: Row) -> list[RowRun]:
        """The runs of a row."""
        return [run for run in self.runs if run.row.id == row.id]

    def scored(self, row: Row) -> list[RowRun]:
        """Those with scores."""
        return [run for run in self.of(row) if run.dev is not None]


def comparable_runs(
    entries: Iterable[Entry], folder: Path, *, scale: str | None, data: str | None, like: str | None
) -> ComparableRuns:
    """The runs of a ledger that make one Table 3: alike except where their rows are printed as different.

    Args:
        entries: the ledger.
        folder: its folder, for messages.
        scale: only runs of this scale.
        data: only runs on this corpus: its name, or the first digits of its fingerprint.
        like: a run directory; runs that do not compare with it are left out instead of refused.

    Raises:
        UserError: runs with scores do not compare.
    """
    every = list(entries)
    damaged = [f"left out: {entry.message}" for entry in every if entry.record is None]
    found = []
    for run in runs_of(RowRun, every, [f"{PREFIX}{row.id}" for row in load_table3().rows]):
        try:
            if is_chosen(run.record, scale=scale, data=data):
                run.read("dev")
        except UserError as error:
            damaged.append(f"left out: {error}")
        else:
            found.append(run)
    chosen = choose(found, folder, scale=scale, data=data)
    if not chosen and like is None:
        return ComparableRuns((), 0, tuple(damaged))
    reference = _reference(chosen, like)
    kept = []
    for run in chosen:
        differences = list(_row_differences(run, reference))
        if not differences:
            kept.append(run)
        elif run.dev is not None and like is None:
            raise differences[0].refusal(str(run.path), str(reference.path), _remedy(differences[1:], reference))
    check_duplicate_seeds([run for run in kept if run.dev is not None], lambda run: run.row.id, "remove one of them")
    return ComparableRuns(tuple(kept), len(found) - len(kept), tuple(damaged))


def _remedy(others: Sequence[Difference], reference: RowRun) -> str:
    """The further keys in which a run differs from the reference, and the reports that take one of them or both."""
    keys = [each.key for each in others]
    listed = keys if len(keys) <= MOST_KEYS else [*keys[:MOST_KEYS], f"{len(keys) - MOST_KEYS} more"]
    also = f"so do {', '.join(listed)}; " if keys else ""
    return (
        f"{also}no column holds both; only.like={reference.path} leaves out runs that differ from that one, and "
        "`aiayn report comparison` compares them"
    )


def _reference(runs: Sequence[RowRun], like: str | None) -> RowRun:
    """The run that all others are compared with: with scores, of the base row and unchanged, if there is one."""
    if like is None:
        return min(runs, key=lambda run: (run.dev is None, run.row.group != "base", run.record.difference != ""))
    path = open_run(like, key="only.like").path.resolve()
    for run in runs:
        if run.path.resolve() == path:
            return run
    raise UserError(f"only.like={like}: not among the chosen runs of Table 3 below paths.runs")


def _row_differences(run: RowRun, reference: RowRun) -> Iterator[Difference]:
    yield from condition_differences(run, reference)
    yield from row_setting_differences(run.row_settings, reference.row_settings)
    if run.dev is not None and reference.dev is not None:
        yield from score_differences(run.dev, reference.dev, "dev")


def row_setting_differences(own: RowSettings, reference: RowSettings) -> Iterator[Difference]:
    """Settings in which two rows differ although Table 3 does not print them so."""
    changes = {**reference.row.changes, **own.row.changes}
    free = set(changes) | (FOLLOWS_STEPS if "optimization.max_steps" in changes else set())
    yield from setting_differences(own, reference, free)
    base = load_table3().base
    for key in changes:
        printed, printed_there = own.row.changes.get(key, base[key]), reference.row.changes.get(key, base[key])
        value, other = own.settings.get(key), reference.settings.get(key)
        fits = value == other
        if printed != printed_there:
            fits = fits_printed(key, value, other, printed, printed_there, own.scale)
        if not fits:
            yield Difference(key, value, other)


def fits_printed(
    key: str, value: Any, other: Any, printed: Setting, printed_there: Setting, scale: Mapping[str, float]
) -> bool:
    """Whether two values are the printed ones: both at the runs' scale, or in the printed proportion."""
    if key not in SCALED:
        return bool(value == printed)
    assert isinstance(printed, int)
    assert isinstance(printed_there, int)
    factor = float(scale.get(SCALED[key], 1))
    is_at_scale = [value, other] == [max(1, round(number * factor)) for number in (printed, printed_there)]
    is_in_proportion = isinstance(value, int) and isinstance(other, int) and value * printed_there == other * printed
    return is_at_scale or is_in_proportion
