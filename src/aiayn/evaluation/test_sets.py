"""Recognise sacreBLEU's test sets of 2014 in a split, by the texts in sacreBLEU's folder; nothing is downloaded.

`wmt14/full` is newstest2014, 3,003 sentences; `wmt14` is the part that WMT evaluated on, 2,737 for English-German.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from aiayn.evaluation.bleu import bleu_from_statistics
from aiayn.evaluation.score import Score
from aiayn.system import files

NAMES = ("wmt14", "wmt14/full")

SENTENCES_OF_2014 = 3003
"""Of newstest2014, English-German and English-French alike."""


def known_test_sets(
    sources: Sequence[str],
    references: Sequence[str],
    *,
    languages: str,
    normalized: Callable[[str], str] = lambda line: line,
) -> dict[str, list[int]]:
    """The indices of the sentences of each test set that the split contains completely.

    Args:
        sources: of the split.
        references: one for each.
        languages: as in en-de.
        normalized: the form of Unicode in which sentences are compared, such as the tokenizer's.
    """
    places: dict[tuple[str, str], list[int]] = defaultdict(list)
    for number, (source, reference) in enumerate(zip(sources, references, strict=True)):
        places[_spaced(normalized(source)), _spaced(normalized(reference))].append(number)
    found: dict[str, list[int]] = {}
    for name in NAMES:
        kept = _kept(name, languages)
        pairs = [(_spaced(normalized(source)), _spaced(normalized(reference))) for source, reference in kept]
        if pairs and all(count <= len(places[pair]) for pair, count in Counter(pairs).items()):
            left = {pair: iter(places[pair]) for pair in pairs}
            found[name] = [next(left[pair]) for pair in pairs]
    return found


def on_test_sets(
    statistics: NDArray[np.int64],
    sources: Sequence[str],
    references: Sequence[str],
    *,
    languages: tuple[str, str],
    signature: str,
    normalized: Callable[[str], str] = lambda line: line,
) -> dict[str, Score]:
    """BLEU on each test set that the split contains, as `bleu_wmt14` and `bleu_wmt14_full`.

    Args:
        statistics: see `aiayn.evaluation.bleu.sentence_statistics`.
        sources: of the split.
        references: one for each.
        languages: of both sides.
        signature: of the BLEU of the statistics.
        normalized: see `known_test_sets`.
    """
    pair = "-".join(languages)
    found = known_test_sets(sources, references, languages=pair, normalized=normalized)
    return {
        f"bleu_{name.replace('/', '_')}": Score(
            bleu_from_statistics(statistics[numbers]),
            signature.replace("nrefs:1|", f"nrefs:1|test:{name}|lang:{pair}|"),
        )
        for name, numbers in found.items()
    }


def remedy(sentences: int, found: dict[str, list[int]], *, languages: str) -> str | None:
    """The way to get `wmt14` for a split that looks like newstest2014; None if it is not needed."""
    if sentences != SENTENCES_OF_2014 or "wmt14" in found:
        return None
    reason = f"{SENTENCES_OF_2014:,} sentences, as newstest2014 (wmt14/full) has"
    return f"{reason}; for wmt14's 2,737 of them: sacrebleu -t wmt14 -l {languages} --echo src, once, with a network"


def _kept(name: str, languages: str) -> list[tuple[str, str]]:
    """The pairs of a test set, if sacreBLEU has downloaded them."""
    from sacrebleu.utils import SACREBLEU_DIR

    stem = Path(SACREBLEU_DIR) / name / f"{name.replace('/', '_')}.{languages}"
    paths = [stem.with_name(f"{stem.name}.{side}") for side in ("src", "ref")]
    if not all(files.is_file(path) for path in paths):
        return []
    sources, references = (path.read_text(encoding="utf-8").split("\n")[:-1] for path in paths)
    return list(zip(sources, references, strict=False))


def _spaced(line: str) -> str:
    """A line as sacreBLEU stores it: runs of white space are one space."""
    return " ".join(line.split())
