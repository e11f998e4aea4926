"""`aiayn replay`: a recorded run and its replay compared, with one verdict."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, ClassVar, Self

import numpy as np
from scipy.special import stdtrit

from aiayn.config.freeze import frozen_content
from aiayn.config.identity import run_settings
from aiayn.errors import UserError
from aiayn.evaluation.sentences import SentenceScores
from aiayn.evaluation.significance import CONFIDENCE, measure, sentence_columns, sentence_variance
from aiayn.extensions.sharing.replays import RecordedRun
from aiayn.reports.content import Content
from aiayn.reports.formats import Document
from aiayn.reports.grid import Grid
from aiayn.runs.ledger import State, read_results
from aiayn.runs.record import Record
from aiayn.system import files
from aiayn.system.documents import NullIsInfinity

MOST_PACKAGES = 8
"""Differing packages that are named; of more, their number."""

NORMAL_QUANTILE = float(stdtrit(math.inf, (1 + CONFIDENCE) / 2))


class Outcome(StrEnum):
    """The verdict on a replay."""

    identical = "bit-identical"
    equal_scores = "equal scores"
    """Neither steps nor hypotheses could be compared."""
    within_noise = "within seed noise"
    different = "different"


@dataclass(frozen=True)
class Difference:
    """A fact in which record and replay differ."""

    name: str
    """Code, package or part of the hardware."""
    recorded: str
    """The fact in the record."""
    here: str
    """The fact in the replay."""


@dataclass(frozen=True)
class ScoreComparison:
    """A score of a split in the record and in the replay."""

    name: str
    """Split and score, as in "dev PPL"."""
    recorded: Annotated[float, NullIsInfinity]
    """The score in the record."""
    here: Annotated[float, NullIsInfinity]
    """The score in the replay."""
    noise: float | None
    """Half width of the interval around no difference, of the logarithm for PPL; None: unknown."""
    is_within_noise: bool
    """Whether the difference is inside the interval, or zero; of perplexities that of their logarithms."""

    @classmethod
    def of(cls, name: str, recorded: float, here: float, noise: float | None) -> Self:
        """Compare two scores; an infinite difference is inside no interval."""
        is_within = recorded == here
        if not is_within and noise is not None and math.isfinite(recorded) and math.isfinite(here):
            own, theirs = (math.log(each) if name.endswith("PPL") else each for each in (here, recorded))
            is_within = abs(own - theirs) <= noise
        return cls(name, recorded, here, noise, is_within)

    @property
    def is_equal(self) -> bool:
        """To the last bit."""
        return self.recorded == self.here

    @property
    def is_judged(self) -> bool:
        """Whether the difference is known to be inside or outside the interval."""
        return self.noise is not None or not (math.isfinite(self.recorded) and math.isfinite(self.here))


@dataclass(frozen=True)
class ReplayContent(Content):
    """A recorded run and its replay: aiayn replay."""

    schema: ClassVar = "replay/1"

    record: Path
    """The file of the record."""
    replay: Path
    """The run directory of the replay."""
    verdict: Outcome
    """The verdict."""
    first_step: int | None
    """The first step whose logged values differ; None: none does, or steps are not compared."""
    first_key: str | None
    """A value that differs there, as in train/loss."""
    steps_compared: int
    """Steps that both have logged; 0: steps are not compared."""
    scores: tuple[ScoreComparison, ...]
    """The scores of both."""
    noise: str
    """The origin of the intervals, in words."""
    sentences: str
    """The numbers of equal hypotheses and of equal scores of sentences, in words."""
    differences: tuple[Difference, ...]
    """Code, packages, hardware and data that were recorded otherwise."""


def compared(run: RecordedRun, replay: RecordedRun, *, runs: Path, has_trained: bool) -> ReplayContent:
    """Compare a replay with its record.

    Args:
        run: the record.
        replay: its replay.
        runs: the folder with runs of the same row with other seeds.
        has_trained: whether the replay trained, so that the logged steps compare.
    """
    first, steps = first_difference(run, replay) if has_trained else (None, 0)
    noise, origin = _noise(run, replay, runs)
    own, here = _values(run.record), _values(replay.record)
    scores = tuple(ScoreComparison.of(name, own[name], here[name], noise.get(name)) for name in own if name in here)
    texts, are_texts_equal = _texts(run, replay)
    has_texts = any(run.hypotheses(split) is not None for split in run.record.scores)
    if first is None and all(each.is_equal for each in scores) and are_texts_equal:
        outcome = Outcome.identical if steps or has_texts else Outcome.equal_scores
    else:
        judged = [each.is_within_noise for each in scores if each.is_judged]
        outcome = Outcome.within_noise if judged and all(judged) else Outcome.different
    step, key = first or (None, None)
    return ReplayContent(
        record=run.directory.record,
        replay=replay.directory.path,
        verdict=outcome,
        first_step=step,
        first_key=key,
        steps_compared=steps,
        scores=scores,
        noise=origin,
        sentences=texts,
        differences=tuple(differences(run, replay)),
    )


def first_difference(run: RecordedRun, replay: RecordedRun) -> tuple[tuple[int, str] | None, int]:
    """The first step with different values and one of them; and the number of steps that both have logged."""
    own, theirs = run.metrics(), replay.metrics()
    both = own.keys() & theirs.keys()
    if not own:
        return None, 0
    for step in sorted(own.keys() | theirs.keys()):
        values, others = own.get(step, {}), theirs.get(step, {})
        for key in sorted(values.keys() | others.keys()):
            if values.get(key, "nothing") != others.get(key, "nothing"):
                return (step, key), len(both)
    return None, len(both)


def _values(record: Record) -> dict[str, float]:
    """Every score, by split and name."""
    found = {}
    for split, scores in record.scores.items():
        found[f"{split} PPL"] = scores.ppl
        names = {**scores.shown, **scores.matrix}
        found |= {f"{split} {name}": score.score for name, score in names.items()}
    return found


def _texts(run: RecordedRun, replay: RecordedRun) -> tuple[str, bool]:
    """How many hypotheses and sentences' scores are equal, in words; and whether all are."""
    parts, are_equal = [], True
    for split in run.record.scores.keys() & replay.record.scores.keys():
        pairs = {
            "hypotheses": (run.hypotheses(split), replay.hypotheses(split)),
            "sentences' scores": (run.sentences(split), replay.sentences(split)),
        }
        for name, (own, theirs) in pairs.items():
            if own is None or theirs is None:
                parts.append(f"{split}: no {name} to compare")
                continue
            equal = sum(one == other for one, other in zip(own, theirs, strict=False))
            are_equal &= equal == len(own) == len(theirs)
            parts.append(f"{split}: {equal:,} of {len(own):,} {name} equal")
    return "; ".join(sorted(parts)), are_equal


def _noise(run: RecordedRun, replay: RecordedRun, runs: Path) -> tuple[dict[str, float], str]:
    """Half widths of intervals by the name of a score, and their origin: other seeds, else sentences, else nothing."""
    others = _other_seeds(run, runs)
    if others:
        records = [run.record, *others]
        quantile = float(stdtrit(len(others), (1 + CONFIDENCE) / 2))
        scores = [_values(record) for record in records]
        found = {}
        for name in scores[0]:
            each = [of_seed.get(name, math.nan) for of_seed in scores]
            values = np.log(each) if name.endswith("PPL") else np.array(each)
            if np.isfinite(values).all():
                found[name] = quantile * math.sqrt(2) * float(np.std(values, ddof=1))
        seeds = ", ".join(str(record.seed) for record in records)
        return found, f"by the spread of {len(records)} seeds of the row ({seeds}) below {runs}"
    found = {}
    for split in run.record.scores.keys() & replay.record.scores.keys():
        rows = run.sentences(split), replay.sentences(split)
        found |= _sentence_noise(split, *rows) if None not in rows else {}  # type: ignore[arg-type]
    if found:
        return found, f"by the sentences that were scored, since paths.runs={runs} has no other seed of the row"
    return {}, f"unknown: there are neither other seeds of the row below {runs} nor scores of sentences"


def _sentence_noise(split: str, own: Sequence[SentenceScores], theirs: Sequence[SentenceScores]) -> dict[str, float]:
    """Half widths by the differences between sentences, of PPL and BLEU; of trees none."""
    if len(own) != len(theirs) or any(row.brackets is not None for row in (*own, *theirs)):
        return {}
    with np.errstate(invalid="ignore"):  # infinite likelihoods leave NaN, which is no interval
        measured = measure([[sentence_columns(own)], [sentence_columns(theirs)]])
        metrics = {"PPL": measured.ppl, "BLEU": measured.bleu}
        widths = {
            f"{split} {name}": NORMAL_QUANTILE * math.sqrt(sentence_variance(each.influences[1] - each.influences[0]))
            for name, each in metrics.items()
        }
    return {name: width for name, width in widths.items() if math.isfinite(width)}


def _other_seeds(run: RecordedRun, runs: Path) -> list[Record]:
    """The records of finished runs that differ from the record by their seed alone, one of each seed."""
    if not (files.is_dir(runs) and run.has_config):
        return []
    settings = run_settings(frozen_content(run.directory.config), fidelity=run.record.fidelity)
    found: dict[int, Record] = {}
    for entry in read_results(runs):
        record = entry.record
        if entry.state is not State.finished or record is None or record.seed == run.record.seed:
            continue
        try:
            theirs = run_settings(frozen_content(entry.directory.config), fidelity=record.fidelity)
        except UserError:
            continue
        if theirs == settings and record.data_fingerprint == run.record.data_fingerprint:
            found[record.seed] = record
    return [found[seed] for seed in sorted(found)]


def differences(run: RecordedRun, replay: RecordedRun) -> Iterator[Difference]:
    """Facts in which record and replay differ: seed, data, code, packages, hardware, precision."""
    own, here = run.record, replay.record
    facts: dict[str, tuple[object, object]] = {
        "seed": (own.seed, here.seed),
        "data": (own.data_fingerprint, here.data_fingerprint),
        "code": (own.origin.code.text, here.origin.code.text),
        **{name: (version, here.versions.get(name)) for name, version in own.versions.items()},
        **{name: (value, here.hardware.get(name)) for name, value in own.hardware.items()},
        "precision": (own.precision, here.precision),
        "TF32": (own.tf32, here.tf32),
        "attempts": (1 + len(own.earlier), 1 + len(here.earlier)),
    }
    for name, values in facts.items():
        if values[0] != values[1]:
            yield Difference(name, *(_text(value) for value in values))
    yield from _other_packages(run, replay)


def _text(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    return "unknown" if value is None else str(value)


def _other_packages(run: RecordedRun, replay: RecordedRun) -> Iterator[Difference]:
    """Installed packages of other versions, which are not among those that are known to matter."""
    locks = [_packages(each) for each in (run, replay)]
    if None in locks or locks[0] == locks[1]:
        return
    own, here = (lock or {} for lock in locks)
    names = sorted(name for name in own.keys() | here.keys() if own.get(name) != here.get(name))
    others = [name for name in names if name not in run.record.versions]
    for name in others[:MOST_PACKAGES]:
        yield Difference(name, own.get(name, "not installed"), here.get(name, "not installed"))
    if len(others) > MOST_PACKAGES:
        yield Difference("further packages", f"{len(others) - MOST_PACKAGES} of other versions", "")


def _packages(run: RecordedRun) -> dict[str, str] | None:
    path = run.directory.package_lock(run.record.packages or "")
    if not files.is_file(path):
        return None
    lines = (line.partition("==") for line in path.read_text(encoding="utf-8").splitlines() if "==" in line)
    return {name: version for name, _, version in lines}


def document(run: RecordedRun, replay: RecordedRun, found: ReplayContent) -> Document:
    """The verdict, then scores, then facts in which record and replay differ."""
    scores = tuple((each.name, f"{each.recorded:.4f}", f"{each.here:.4f}", _cell(each)) for each in found.scores)
    grids = [Grid("Scores", ("<score", "record", "replay", "<result"), (scores,))]
    if found.differences:
        lines = tuple((each.name, each.recorded, each.here) for each in found.differences)
        grids.append(Grid("Other differences", ("<fact", "<record", "<replay"), (lines,)))
    return Document(
        f"Replay of {run.record.name}",
        "Written by `aiayn replay`.",
        grids,
        list(remarks(run, replay, found)),
        lead=lead(run, found),
        remarks_title="Remarks",
        content=found,
    )


def _cell(score: ScoreComparison) -> str:
    if score.is_equal:
        return "equal"
    if score.noise is None:
        return "differs"
    return "within seed noise" if score.is_within_noise else "differs by more than seed noise"


def lead(run: RecordedRun, found: ReplayContent) -> str:
    """The verdict in one line."""
    if found.verdict is Outcome.identical:
        what = (
            f"all {found.steps_compared:,} logged steps and all scores"
            if found.steps_compared
            else "all hypotheses and scores"
        )
        return f"{run.record.name}: {found.verdict}: {what} are equal"
    if found.verdict is Outcome.equal_scores:
        return f"{run.record.name}: {found.verdict}; neither steps nor hypotheses could be compared"
    if found.first_step is not None:
        where = f"first differs at step {found.first_step:,} ({found.first_key})"
    else:
        where = "all logged steps are equal, scores are not" if found.steps_compared else "steps are not compared"
    return f"{run.record.name}: {found.verdict}; {where}"


def remarks(run: RecordedRun, replay: RecordedRun, found: ReplayContent) -> Iterator[str]:
    """On steps, sentences, noise, code and hardware."""
    if not found.steps_compared:
        is_there = files.is_file(run.directory.metrics)
        why = "the replay scored and did not train" if is_there else "no metrics.jsonl lies beside the record"
        yield f"steps: cannot be compared, {why}"
    if found.sentences:
        yield f"sentences: {found.sentences}"
    if found.verdict not in (Outcome.identical, Outcome.equal_scores):
        yield f"seed noise: {found.noise}"
        if not found.differences:
            yield "code, packages, data and hardware are the recorded ones"
    own, here = run.record, replay.record
    if own.commit and own.commit != here.commit:
        yield f"code: the record is of another commit; git checkout {own.commit}"
    if own.patch and own.patch != here.patch:
        path = run.directory.source_patch(own.patch)
        remedy = f"git apply {path}" if files.is_file(path) else "no patch of them is kept"
        yield f"code: the record has uncommitted changes; {remedy}"
    yield f"replay: {replay.directory.path}; no report counts it"
