"""How the time of a training step grows with the width of the model, the length of sentences and the size of the batch.

    python benchmarks/scaling.py

Random sentences of one length each, base but for what is varied. How decoding grows with beam and length stands under
decoding, how start-up grows with the jobs of a sweep under start-up.
"""

import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median

from aiayn.config.freeze import frozen_text
from contest import Contender, Spread, contest
from results import Row, tables
from texts import BASE, TINY, Workload
from token_batches import random_batch, write_batches

OURS = "aiayn"
WIDTHS, LENGTHS, TOKENS = (128, 256, 512, 1024), (16, 32, 64, 128, 256), (256, 512, 1024, 2048)
"""d_model; tokens of a sentence; tokens a side of a batch."""

ROUNDS, THREADS = 3, 2


def measure(*, quick: bool = False) -> list[Row]:
    """Seconds and tokens a second of each size; the ratio is to the speed of the first in the table."""
    workload = replace(TINY if quick else BASE, text="generated")
    widths, lengths, tokens = ((16,), (8,), (64,)) if quick else (WIDTHS, LENGTHS, TOKENS)
    of_width = {width: replace(workload, overrides=(*workload.overrides, *_sizes(width))) for width in widths}
    return [
        *_table("Step by width, 1,024 tokens a side", [(f"d_model {n}", of_width[n], 32, 1024) for n in widths]),
        *_table("Step by length, 1,024 tokens a side", [(f"{n} a sentence", workload, n, 1024) for n in lengths]),
        *_table("Step by batch, 32 tokens a sentence", [(f"{n:,} a side", workload, 32, n) for n in tokens]),
    ]


def _sizes(width: int) -> tuple[str, ...]:
    """A model of another width, with heads as wide as the paper's where there is more than one."""
    return (f"model.d_model={width}", f"model.d_ff={4 * width}", f"model.num_heads={max(1, width // 64)}")


def _table(title: str, points: Sequence[tuple[str, Workload, int, int]]) -> list[Row]:
    rows: list[Row] = []
    first = 0.0
    for name, workload, length, tokens in points:
        with tempfile.TemporaryDirectory() as work:
            seconds, speed = _step(workload, Path(work), length=length, tokens=tokens)
        first = first or speed
        rows.append(
            Row(
                f"{title}, {THREADS} threads",
                name,
                seconds,
                "s",
                Spread(*[speed / first] * 3),
                note=f"{speed:,.0f} tokens/s",
            )
        )
        print(f"scaling: {name}: {seconds:.2f} s", file=sys.stderr, flush=True)
    return rows


def _step(workload: Workload, work: Path, *, length: int, tokens: int) -> tuple[float, float]:
    """Median seconds of a step, and tokens a second."""
    batches, config = work / "batches.pt", work / "config.yaml"
    batch = random_batch(sentences=tokens // length, length=length, vocabulary_size=workload.vocabulary_size)
    write_batches(batches, [batch])
    config.write_text(frozen_text(workload.config()), encoding="utf-8")
    settings = {"work": str(work), "batches": str(batches), "config": str(config), "keep_memory": True}
    answers, failed = contest([Contender(OURS, "trainers:aiayn")], settings, rounds=ROUNDS, threads=THREADS)
    assert not failed, failed
    return median(each.seconds for each in answers[OURS]), median(each.speed() for each in answers[OURS])


if __name__ == "__main__":
    print(tables(measure(quick="--quick" in sys.argv[1:])))
