"""One GPU: tokens a second of base and big by `aiayn train` in bf16, their share of the peak, and a search.

    python benchmarks/one_gpu.py

The measurements are those of `make gpu`. Where there is no GPU it says so and measures nothing.
"""

import sys
import tempfile
from pathlib import Path

import torch

from gpu_stages import Bench
from results import Mark, Row, tables

MARKS = {"base": 600_000.0, "big": 300_000.0}
MODES = ("bf16", "bf16 compiled")


def measure(*, quick: bool = False) -> list[Row]:
    """The rows of all tables; the quick ones are of a tiny model on the CPU."""
    if not quick and not torch.cuda.is_available():
        return [Row("One GPU", "aiayn", note="not measured: there is no CUDA device here")]
    with tempfile.TemporaryDirectory() as work:
        bench = Bench("cpu" if quick else "cuda", quick, Path(work))
        modes, titles = (MODES[:1], ["base"]) if quick else (MODES, [*MARKS])
        rows = [_training(bench, row, mode) for mode in modes for row in titles]
        found = bench.search(4)
    title = f"Decoding, one GPU, base, beam 4, {found['sentences']:,} sentences with lengths as WMT's"
    return [*rows, Row(title, "aiayn", found["seconds"], "s", mark=Mark(10.0, "value", "at most"))]


def _training(bench: Bench, row: str, mode: str) -> Row:
    found = bench.speed_of(row, mode)
    note = f"{found['MFU']:.0%} of {found['TFLOP/s of bf16 products']:,} TFLOP/s of products, {found['shapes']} shapes"
    speed, title = found["target tokens/s"], f"Training, one GPU, {mode}"
    return Row(title, row, speed, "target tokens/s", mark=Mark(MARKS[row], "value"), note=note)


if __name__ == "__main__":
    print(tables(measure(quick="--quick" in sys.argv[1:])))
