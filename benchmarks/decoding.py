"""How fast beam search is: sentences a second against CTranslate2 and Marian, by threads, beam and length.

    python benchmarks/decoding.py

Random sentences and weights, single precision unless int8 is said; outputs are as long as their sources, for eos is
never likely. CTranslate2 has our weights, as `aiayn export` writes them.
"""

import dataclasses
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import NamedTuple

import peers
from contest import Contender, contest, ratios
from results import Mark, Row, tables
from texts import BASE, TINY

OURS, REFERENCE = "aiayn", "CTranslate2 float32"


class Contest(NamedTuple):
    """One table."""

    threads: int
    sentences: int = 64
    length: int = 30
    beam: int = 4
    rounds: int = 3
    mark: float | None = None
    with_others: bool = False


CONTESTS = (
    Contest(2, mark=1.2, with_others=True, rounds=4),
    Contest(1, mark=1.2),
    *(Contest(2, beam=beam, rounds=2) for beam in (1, 8, 16)),
    *(Contest(2, sentences=16, length=length, rounds=2) for length in (10, 50, 100)),
    Contest(2, sentences=1, rounds=5),
)


def measure(*, quick: bool = False) -> list[Row]:
    """The rows of all tables; quick ones are of a model too small to tell anything, without peers."""
    contests = [Contest(1, sentences=2, length=4, beam=2, rounds=2)] if quick else CONTESTS
    rows = []
    for each in contests:
        with tempfile.TemporaryDirectory() as work:
            rows += _measure(each, Path(work), quick=quick)
    return rows


def _measure(each: Contest, work: Path, *, quick: bool) -> list[Row]:
    workload = TINY if quick else BASE
    settings = {
        "work": str(work),
        "architecture": dataclasses.asdict(workload.config().model),
        "vocabulary_size": workload.vocabulary_size,
        **{name: getattr(each, name) for name in ("sentences", "length", "beam", "threads")},
    }
    title = (
        f"Beam {each.beam}, {each.sentences} sentence{'s' * (each.sentences > 1)} of {each.length} tokens, "
        f"{workload.title}, {each.threads} thread{'s' * (each.threads > 1)}"
    )
    answers, failed = contest(
        _contenders(each, with_peers=not quick),
        settings,
        rounds=each.rounds,
        threads=each.threads,
        tell=lambda said: print(f"decoding, {title}: {said}", file=sys.stderr, flush=True),
    )
    cpu = each.threads == 1
    rows = []
    for name, done in answers.items():
        rows.append(
            Row(
                title,
                name,
                median(answer.speed(cpu=cpu) for answer in done),
                "sentences/CPU-s" if cpu else "sentences/s",
                ratios(answers, name, REFERENCE, cpu=cpu) if REFERENCE in answers else None,
                ratios(answers, name, REFERENCE, cpu=True).median if REFERENCE in answers else None,
                each.rounds,
                Mark(each.mark) if name == OURS and each.mark else None,
            )
        )
    return rows + [Row(title, name, note=said) for name, said in failed.items()]


def _contenders(each: Contest, *, with_peers: bool) -> list[Contender]:
    own = [Contender(OURS, "searchers:aiayn")]
    if not with_peers:
        return own
    python = peers.python()
    own.append(Contender(REFERENCE, "searchers:ctranslate2", python, {"compute_type": "float32"}))
    if each.with_others:
        own.append(Contender("CTranslate2 int8", "searchers:ctranslate2", python, {"compute_type": "int8"}))
        own.append(Contender("Hugging Face Marian", "searchers:marian", python))
    return own


if __name__ == "__main__":
    print(tables(measure(quick="--quick" in sys.argv[1:])))
