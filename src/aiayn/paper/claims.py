"""Claims on rows: types, and the paper's conclusions from Table 3, which are read from claims.yaml."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
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
    shift: float = 0.0
    """What is added to the weighted sum of scores: of a likeness whose margin is stated, that, to the better."""

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
        stated[kind], own[kind] = [], ()
        for each in entry.get(kind, ()):
            found = tuple(_comparisons({"metric": metric.value, **each}, score))
            kept = {key: value for key, value in each.items() if key != "effect"}
            stated[kind].append({"metric": metric.value, **kept, "scores": found[0].scores})
            own[kind] += found
    return Claim(**{**entry, **own}, entry=stated)


def _comparisons(entry: Mapping[str, Any], score: Score | None) -> Iterator[Comparison]:
    """The comparisons of an entry that states its metric: two of a likeness, else one."""
    metric = Metric[entry["metric"]]
    if "trend" in entry:
        sizes: Mapping[str, float] = entry["trend"]
        rows = sorted(sizes, key=lambda row: sizes[row])
        text = f"{metric.upper()} {'rises' if metric.sign > 0 else 'falls'} with {', '.join(rows)}"
        steps = tuple((larger, smaller) for smaller, larger in pairwise(rows))
        scores = _scores(entry, sizes, score, {row: math.log2(size) for row, size in sizes.items()})
        yield Comparison(metric, slope_weights(sizes), scores, text, steps)
    elif "alike" in entry:
        first, second = entry["alike"]
        shift, share = metric.sign * float(entry.get("within", 0.0)), dict[str, float]()
        less = f"{'+' if metric.sign > 0 else '-'} {abs(shift):g}"
        if "share_of" in entry:
            worse, better = entry["share_of"]
            share, less = {worse: -SHARE, better: SHARE}, f"- {SHARE:g} ({worse} - {better})"
        scores = _scores(entry, dict.fromkeys((first, second, *share)), score, {better: 1.0} if share else {})
        for one, other in ((first, second), (second, first)):
            pair = {one: 1.0, other: -1.0}
            weights = {row: pair.get(row, 0.0) + share.get(row, 0.0) for row in (*pair, *share)}
            text = f"{metric.compared}: {one} - {other} {less} {'> 0' if metric.sign > 0 else '< 0'}"
            yield Comparison(metric, weights, scores, text, alike=(first, second), shift=shift)
    else:
        better, worse = entry["better"], entry["worse"]
        text = f"{metric.upper()} of {better} {'>' if metric.sign > 0 else '<'} {worse}"
        scores = _scores(entry, (better, worse), score, {better: 1.0})
        yield Comparison(metric, {better: 1.0, worse: -1.0}, scores, text)


def _scores(
    entry: Mapping[str, Any], rows: Iterable[str], score: Score | None, relative: Mapping[str, float]
) -> Mapping[str, float]:
    """The scores of the rows of an entry, as it states them, or relative ones: those not 0 for an effect of one."""
    if "scores" in entry:
        scores: Mapping[str, float] = entry["scores"]
        return scores
    metric = Metric[entry["metric"]]
    if score is not None and "effect" not in entry:
        return {row: score(metric, row) for row in rows}
    effect = 0.0 if "within" in entry else metric.sign * float(entry["effect"])
    return dict.fromkeys(rows, 0.0) | {row: effect * factor for row, factor in relative.items()}


def slope_weights(sizes: Mapping[str, float]) -> dict[str, float]:
    """The weights of the least-squares slope of scores per doubling of the size."""
    logs = {row: math.log2(size) for row, size in sizes.items()}
    mean = sum(logs.values()) / len(logs)
    spread = sum((each - mean) ** 2 for each in logs.values())
    return {row: (each - mean) / spread for row, each in logs.items()}
