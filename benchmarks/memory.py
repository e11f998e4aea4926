"""What the process of a run holds over many steps of changing shapes, with and without the allocator's setting.

    AIAYN_DATA=... python benchmarks/memory.py

`launch.keep_allocator_memory` has glibc keep what was freed (src/aiayn/system/allocator.py). Over a long run of
changing shapes that could add up.
"""

import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from contest import Contender, Spread, contest
from results import Mark, Row, tables
from texts import SMALL, TINY, settings

STEPS = 300
KEPT, RETURNED = "memory kept", "memory returned to the kernel"


def measure(*, quick: bool = False) -> list[Row]:
    """The most memory held after so many steps, and what keeping it adds."""
    workload = TINY if quick else replace(SMALL, budget=512)
    steps = 4 if quick else STEPS
    contenders = [
        Contender(name, "trainers:aiayn", settings={"keep_memory": name == KEPT}) for name in (KEPT, RETURNED)
    ]
    with tempfile.TemporaryDirectory() as work:
        given = settings(workload, Path(work), batches=steps)
        answers, failed = contest(contenders, given, rounds=steps, warm_up=0, threads=2)
    title = f"Peak memory over {steps} steps, {workload.title}, {workload.corpus}, {workload.budget} tokens a side"
    rows = [Row(title, name, note=said) for name, said in failed.items()]
    if failed:
        return rows
    for done in sorted({max(1, steps // 30), max(1, steps // 3), steps}):
        kept, returned = (answers[name][done - 1].peak_bytes for name in (KEPT, RETURNED))
        ratio = Spread(*[kept / returned] * 3)
        mark = Mark(1.2, sense="at most") if done == steps else None
        rows.append(Row(title, f"{RETURNED}, {done} steps", returned / 1e9, "GB"))
        rows.append(Row(title, f"{KEPT}, {done} steps", kept / 1e9, "GB", ratio, mark=mark))
    return rows


if __name__ == "__main__":
    print(tables(measure(quick="--quick" in sys.argv[1:])))
