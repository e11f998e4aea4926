"""Claims on rows: types, and the paper's conclusions from Table 3, which are read from claims.yaml."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from itertools import pairwise
from typing import Any, TypeAlias

from aiayn.paper.cells import read_yaml
from aiayn.paper.tables import load_table3

SHARE = 0.25
"""Rows that differ by less than this share of another difference are alike."""

DIGITS = 6
"""Digits after the point of printed scores."""


class Metric(StrEnum):
    """A column of results."""

    ppl = "ppl"
    bleu = "bleu"

    @property
    def sign(self) -> int:
        """+1 where more is better, -1 where less is."""
        return 1 if self is Metric.bleu else -1

    @property
    def compared(self) -> str:
        """Name of the values that are subtracted."""
        return "BLEU" if self is Metric.bleu else "log PPL"

    def difference(self, first: float, second: float) -> float:
        """The first score minus the second; for perplexities, the difference of logarithms."""
        return first - second if self is Metric.bleu else math.log(first / second)


@dataclass(frozen=True)
class Comparison:
    """A claimed sign of a contrast, which is a weighted sum of rows: that of `metric`, positive where more is better.

    It is one of three: a row minus another, claimed to be better; a slope over the logarithms of sizes, claimed to be
    to the better; or a difference less what is too small to matter, a share of another difference or a stated margin.
    """

    metric: Metric
    weights: Mapping[str, float]
    """Of rows, by id."""
    scores: Mapping[str, float]
    """Of rows, as stated: log PPL or BLEU that the paper prints; of a stated effect, relative to one of the rows."""
    text: str
    """The claim in symbols, as in "PPL of base < a_h32"."""
    steps: tuple[tuple[str, str], ...] = ()
    """Of a slope: neighbours by size, the larger first."""
    alike: tuple[str, str] | None = None
    """The rows of a claimed likeness."""
    margin: float = 0.0
    """Of a likeness, where it is stated: added to the weighted sum to the better."""

    @property
    def rows(self) -> tuple[str, ...]:
        """Each once."""
        return tuple(self.weights)

    @property
    def effect(self) -> float:
        """The contrast as stated, or as the paper prints it."""
        return self.contrast(self.scores)

    def contrast(self, scores: Mapping[str, float]) -> float:
        """The weighted sum of scores by row; rows claimed to be alike are taken to be equal."""
        if self.alike is not None:
            scores = {**scores, self.alike[0]: scores[self.alike[1]]}
        return self.shift + sum(weight * scores[row] for row, weight in self.weights.items())

    @property
    def shift(self) -> float:
        """What is added to the weighted sum of scores."""
        return self.metric.sign * self.margin


@dataclass(frozen=True)
class Claim:
    """A conclusion; it holds where every primary comparison does, and no step of a slope is significantly opposite."""

    id: str
    statement: str
    primary: tuple[Comparison, ...]
    entry: Mapping[str, Any]
    """Its values, as `read_claim` reads them, with the scores of all rows stated."""
    secondary: tuple[Comparison, ...] = ()
    """Comparisons that are tested and shown, and do not affect the verdict."""
    may_fail: bool = False
    """Whether it is about rows that may learn badly; else a row that does not learn leaves it untested."""
    requires: str | None = None
    """The claim of the same table that must be reproduced, or there is nothing to compare a likeness with."""
    section: str = ""
    """Section of the paper."""
    group: str = ""
    """Group of its rows in Table 3."""
    about: str = ""
    """Its subject, in a word or two."""

    @property
    def rows(self) -> tuple[str, ...]:
        """The rows that its primary comparisons compare, each once."""
        return tuple(dict.fromkeys(row for comparison in self.primary for row in comparison.rows))


Score: TypeAlias = Callable[[Metric, str], float]
"""The score of a row: log PPL or BLEU."""


@cache
def load_claims() -> tuple[Claim, ...]:
    """The paper's conclusions from Table 3."""
    return tuple(read_claim(entry, printed_score) for entry in read_yaml("claims.yaml")["claims"])


def printed_score(metric: Metric, row: str) -> float:
    """The cell of a row as the paper prints it: log PPL or BLEU."""
    value = load_table3().row(row).cell(metric).number
    return value if metric is Metric.bleu else round(math.log(value), DIGITS)


def read_claim(entry: Mapping[str, Any], score: Score | None = None) -> Claim:
    """A claim from its values.

    Args:
        entry: as in claims.yaml.
        score: of rows, for comparisons that state neither `effect` nor `scores`; None: all do.

    Raises:
        KeyError: it names an unknown metric, or lacks rows or an effect.
        TypeError: it has other keys.
    """
    stated: dict[str, Any] = {**entry}
    own: dict[str, tuple[Comparison, ...]] = {}
    for kind, metric in {"primary": Metric.ppl, "secondary": Metric.bleu}.items():
        entries = [_with_scores({"metric": metric.value, **each}, score) for each in entry.get(kind, ())]
        stated[kind], own[kind] = entries, tuple(found for each in entries for found in _comparisons(each))
    return Claim(**{**entry, **own}, entry=stated)


def _with_scores(entry: Mapping[str, Any], score: Score | None) -> dict[str, Any]:
    """A comparison with the scores of its rows; those of a stated effect are relative."""
    metric, kept = Metric[entry["metric"]], {**entry}
    if "scores" in kept:
        return kept
    if score is not None and "effect" not in kept:
        return {**kept, "scores": {row: score(metric, row) for row in _rows(entry)}}
    if "within" in kept:
        return {**kept, "scores": dict.fromkeys(_rows(entry), 0.0)}
    effect = metric.sign * float(kept.pop("effect"))
    if "trend" in entry:
        return {**kept, "scores": {row: effect * math.log2(size) for row, size in entry["trend"].items()}}
    worse, better = entry["share_of"] if "alike" in entry else (entry["worse"], entry["better"])
    return {**kept, "scores": {**dict.fromkeys(_rows(entry), 0.0), better: effect, worse: 0.0}}


def _rows(entry: Mapping[str, Any]) -> list[str]:
    """The rows of a comparison, each once."""
    if "trend" in entry:
        return [*entry["trend"]]
    keys = ("alike", "share_of") if "alike" in entry else ()
    named = [row for key in keys for row in entry.get(key, ())] or [entry["better"], entry["worse"]]
    return list(dict.fromkeys(named))


def _comparisons(entry: Mapping[str, Any]) -> Iterator[Comparison]:
    """The comparisons of an entry that states its metric and scores: two of a likeness, else one."""
    metric, scores = Metric[entry["metric"]], entry["scores"]
    if "trend" in entry:
        sizes: Mapping[str, float] = entry["trend"]
        rows = sorted(sizes, key=lambda row: sizes[row])
        text = f"{metric.upper()} {'rises' if metric.sign > 0 else 'falls'} with {', '.join(rows)}"
        steps = tuple((larger, smaller) for smaller, larger in pairwise(rows))
        yield Comparison(metric, slope_weights(sizes), scores, text, steps)
    elif "alike" in entry:
        first, second = entry["alike"]
        margin, side = float(entry.get("within", 0.0)), "> 0" if metric.sign > 0 else "< 0"
        for one, other in ((first, second), (second, first)):
            weights: Mapping[str, float] = {one: 1.0, other: -1.0}
            less = f"{'+' if metric.sign > 0 else '-'} {margin:g}"
            if "share_of" in entry:
                worse, better = entry["share_of"]
                weights = _sum(weights, {worse: -SHARE, better: SHARE})
                less = f"- {SHARE:g} ({worse} - {better})"
            text = f"{metric.compared}: {one} - {other} {less} {side}"
            yield Comparison(metric, weights, scores, text, alike=(first, second), margin=margin)
    else:
        better, worse = entry["better"], entry["worse"]
        text = f"{metric.upper()} of {better} {'>' if metric.sign > 0 else '<'} {worse}"
        yield Comparison(metric, {better: 1.0, worse: -1.0}, scores, text)


def _sum(*terms: Mapping[str, float]) -> dict[str, float]:
    rows = dict.fromkeys(row for each in terms for row in each)
    return {row: sum(each.get(row, 0.0) for each in terms) for row in rows}


def slope_weights(sizes: Mapping[str, float]) -> dict[str, float]:
    """The weights of the least-squares slope of scores per doubling of the size."""
    logs = {row: math.log2(size) for row, size in sizes.items()}
    mean = sum(logs.values()) / len(logs)
    spread = sum((each - mean) ** 2 for each in logs.values())
    return {row: (each - mean) / spread for row, each in logs.items()}
