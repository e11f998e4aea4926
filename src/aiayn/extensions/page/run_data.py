"""The parts of a run's files that a page shows: curves, sample sentences and attention maps."""

import base64
import difflib
import gzip
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from aiayn.data.lines import file_lines
from aiayn.data.preparation.prepared import PreparedData, find_prepared
from aiayn.errors import UserError
from aiayn.evaluation.sentences import read_sentence_scores, sentence_quality
from aiayn.evaluation.tokenization import bleu_tokenizer, is_by_character
from aiayn.runs.attention_maps import KINDS, Weights, read_attention_maps
from aiayn.runs.directory import RunDirectory
from aiayn.system import files

METRICS: Mapping[str, str] = {
    "val/ppl": "Perplexity on dev",
    "val/bleu": "BLEU on a sample of dev",
    "val/bleu_none": "BLEU_none on a sample of dev",
    "val/f1": "F1 on a sample of dev",
    "train/loss": "Training loss",
}
"""Titles of the curves, by their keys in metrics.jsonl."""

MOST_POINTS = 200  # of a curve, so that a page of sixty runs stays small
DIGITS = 5  # significant ones of numbers that are drawn

WORST, MEDIAN, BEST = RANKS = ("The worst", "In the middle", "The best")
SAMPLES_EACH = 3

LEVELS = 255  # of a weight from 0 to 1
MOST_BYTES = 600_000
"""Of all packed maps of one run; the first sentence is shown whatever its size."""


@dataclass(frozen=True)
class Curve:
    """One metric of one run."""

    steps: Sequence[int]
    """Optimizer steps, ascending."""
    values: Sequence[float]
    """As many, all finite."""


@dataclass(frozen=True)
class Sample:
    """One sentence with its translation."""

    rank: str
    """One of `RANKS`."""
    number: int
    """Its line in the split, from 1."""
    score_name: str
    score: float
    """BLEU, or F1 of the brackets where trees are scored; 0 to 100."""
    source: str
    reference: str
    hypothesis: str
    is_by_character: bool
    """Whether the sentence has no spaces between words."""

    @property
    def pieces(self) -> list[tuple[str, bool]]:
        """The hypothesis in pieces of words, or characters, and whether the reference does not have them there."""
        lines = (self.hypothesis, self.reference)
        words, others = (list(line) if self.is_by_character else line.split() for line in lines)
        space = "" if self.is_by_character else " "
        blocks = difflib.SequenceMatcher(None, words, others, autojunk=False).get_opcodes()
        return [(space.join(words[start:end]), kind != "equal") for kind, start, end, _, _ in blocks if end > start]


def read_curves(directory: RunDirectory) -> dict[str, Curve]:
    """The curves of a run by metric, without those that have no finite point.

    Raises:
        UserError: a line holds no numbers.
    """
    points: dict[str, list[tuple[int, float]]] = {metric: [] for metric in METRICS}
    for step, values in directory.metric_rows():
        for metric in points.keys() & values.keys():
            value = values[metric]
            if value is not None and math.isfinite(value):
                points[metric].append((step, float(f"{value:.{DIGITS}g}")))
    curves = {metric: Curve(*zip(*found, strict=True)) for metric, found in points.items() if found}
    return {metric: _thinned(curve) for metric, curve in curves.items()}


def _thinned(curve: Curve) -> Curve:
    kept = thinned(curve.values, MOST_POINTS)
    return Curve([curve.steps[place] for place in kept], [curve.values[place] for place in kept])


def thinned(values: Sequence[float], most: int) -> list[int]:
    """The indices of points that keep the shape of a curve: both ends, and the extremes of equal parts.

    Args:
        values: finite.
        most: points, at least 4; a curve with no more is kept whole.
    """
    count = len(values)
    if count <= most:
        return list(range(count))
    parts = (most - 2) // 2
    kept = {0, count - 1}
    for part in range(parts):
        within = range(1 + part * (count - 2) // parts, 1 + (part + 1) * (count - 2) // parts)
        kept |= {min(within, key=values.__getitem__), max(within, key=values.__getitem__)}
    return sorted(kept)


@cache
def find_corpus(fingerprint: str, caches: tuple[Path, ...]) -> PreparedData:
    """The prepared corpus in the first cache that has it.

    Raises:
        UserError: no cache has it undamaged.
    """
    for each in caches:
        if data := find_prepared(each, fingerprint):
            return data
    raise UserError("its corpus is no longer in the cache, so sources and references are not at hand")


@cache
def read_samples(hypotheses: Path, modified: int, data: PreparedData) -> tuple[Sample, ...]:
    """The worst, median and best sentences of a run on dev, by sentence BLEU or F1.

    Args:
        hypotheses: the file, with the scores of the sentences beside it.
        modified: the time of its last change, so that an unchanged file is read once.
        data: the run's corpus.

    Raises:
        UserError: files are missing or damaged, or do not belong to the corpus.
    """
    del modified
    translations = list(file_lines(hypotheses, "hypotheses"))
    rows = read_sentence_scores(hypotheses.with_name("dev.sentences.jsonl"))
    split = data.split("dev", limit=len(rows))
    if not len(rows) == len(translations) == len(split):
        raise UserError(
            f"{hypotheses}: {len(translations)} sentences where there are {len(rows)} scores; evaluate the run again"
        )
    by_character = is_by_character(bleu_tokenizer(data.languages[1], pretokenized=data.pretokenized))
    sources, references = split.source_lines(), data.references(split)
    scores = [sentence_quality(row) for row in rows]
    name = "BLEU" if all(row.brackets is None for row in rows) else "F1"
    # Of equal scores, that of the longer sentence is the better one.
    order = sorted(range(len(rows)), key=lambda place: (scores[place], rows[place].tokens, -place))
    return tuple(
        Sample(
            rank, place + 1, name, scores[place], sources[place], references[place], translations[place], by_character
        )
        for rank, places in ranked(order).items()
        for place in places
    )


def ranked(order: Sequence[int]) -> dict[str, Sequence[int]]:
    """Some sentences of each rank, none twice, of sentences from worst to best."""
    each = min(SAMPLES_EACH, len(order) // len(RANKS)) or 1
    middle = (len(order) - each) // 2
    found = {WORST: order[:each], MEDIAN: order[middle : middle + each], BEST: order[::-1][:each]}
    if len(order) < len(RANKS):
        del found[MEDIAN]
    if len(order) < 2:
        del found[WORST]
    return found


def read_attention(folder: Path) -> dict[str, Any] | None:
    """The attention maps of a run's last checkpoint that has some, for the page's script; None without any.

    `packed` is base64 of the gzip of a byte for each weight, `[layers, heads, queries, keys]`; `omitted` is the number
    of sentences that would make the page too large.

    Args:
        folder: `attention/` of a run directory.

    Raises:
        UserError: the file holds no maps.
    """
    paths = {int(path.stem.removeprefix("step-")): path for path in files.listed(folder, "step-[0-9]*.json")}
    if not paths:
        return None
    maps = read_attention_maps(paths[max(paths)])
    sentences: list[dict[str, Any]] = []
    size = 0
    for each in maps.sentences:
        kinds = {kind: _packed(each.map(kind).weights) for kind in KINDS}
        size += sum(len(weights["packed"]) for weights in kinds.values())
        if sentences and size > MOST_BYTES:
            break
        sentences.append({"source": each.source, "target": each.target, "read": each.target_input, "kinds": kinds})
    return {"step": maps.checkpoint_step, "sentences": sentences, "omitted": len(maps.sentences) - len(sentences)}


def _packed(weights: Weights) -> dict[str, Any]:
    layers, heads = weights.shape[:2]
    levels = np.rint(np.clip(weights, 0, 1) * LEVELS).astype(np.uint8)
    packed = base64.b64encode(gzip.compress(levels.tobytes(), mtime=0)).decode()
    return {"layers": layers, "heads": heads, "packed": packed}
