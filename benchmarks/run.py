"""Measure, and write docs/performance.md: what `make bench` does.

    AIAYN_DATA=... python benchmarks/run.py [subject ...] [--quick] [--output docs/performance.md]

Without a subject all are measured, one after another. The rows of each replace its earlier rows in
docs/results/performance.json as soon as it has been measured, so a run may be stopped and continued by subject.
"""

import argparse
import importlib
import importlib.util
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import peers
import performance_page
from aiayn.system import files
from results import Mark, Row, merge, read, row_of_figures, tables

ROOT = Path(__file__).parents[1]

SUBJECTS = {
    "training": "Steps of training in a bare loop: forward, backward and Adam, with dropout and label smoothing.",
    "memory": "Memory of a process over many steps of changing shapes, with the C allocator configured as in a run.",
    "whole_run": "`aiayn train`, with the time between its steps, compared with the bare loop over the same batches.",
    "decoding": "Beam search in single precision, compared with CTranslate2 on the same weights.",
    "preparation": "From text to token ids on disk.",
    "start_up": "Time until a command answers, until the first step, and between the jobs of a sweep.",
    "scaling": "Growth of times with the model, the sentences and the batch.",
    "one_gpu": "One GPU, bf16, dropout on.",
}
"""In the order of the page; each is a module beside this file with a function `measure`."""

MARKS = {
    "prepare, as a share of bare encode_batch": Mark(0.9),
    "aiayn --help": Mark(0.5, "value", "at most"),
    "aiayn train, to its first step": Mark(1.3, sense="at most"),
    "aiayn ": Mark(1.0, "value", "at most"),
    "sweep of 20, forked": Mark(3.0, "value", "at most"),
}
"""Of modules that return figures instead of rows, by how these begin; the first that fits."""

TABLES = {
    "preparation": "Preparation; the ratio is to encoding alone",
    "start_up": "Start-up; the ratio is to importing torch and Lightning alone",
}
"""Of the same modules."""

QUICK: dict[str, dict[str, Any]] = {
    "preparation": {"repetitions": 1, "corpora": ("multi30k",), "pairs": (2_000,), "index": (50_000,)},
    "start_up": {"repetitions": 1, "sweeps": (1,)},
}
"""What makes some modules quick."""

PEERS = ("fairseq-fixed", "transformers", "x-transformers", "ctranslate2")


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("subjects", nargs="*", metavar="subject", help=f"of {', '.join(SUBJECTS)} (default: all)")
    parser.add_argument("--quick", action="store_true", help="tiny shapes, no peers: whether it works, not how fast")
    parser.add_argument("--output", type=Path, default=ROOT / "docs" / "performance.md", help="(default: %(default)s)")
    parser.add_argument("--results", type=Path, help="(default: results/performance.json beside the output)")
    options = parser.parse_args(words)
    unknown = [name for name in options.subjects if name not in SUBJECTS]
    if unknown:
        parser.error(f"{unknown[0]}: no such subject; there are {', '.join(SUBJECTS)}")
    results = options.results or options.output.parent / "results" / "performance.json"
    for name in options.subjects or SUBJECTS:
        if importlib.util.find_spec(name) is None:
            print(f"{name}: there is no benchmarks/{name}.py", file=sys.stderr)
            continue
        _measure(name, results, quick=options.quick)
    files.write_text(options.output, performance_page.markdown(read(results), SUBJECTS))
    print(f"written to {options.output}", file=sys.stderr)
    return 0


def _row(subject: str, measured: Row | Mapping[str, Any]) -> Row:
    if isinstance(measured, Row):
        return measured
    mark = next((mark for what, mark in MARKS.items() if measured["what"].startswith(what)), None)
    return row_of_figures(TABLES[subject], measured, mark)


def _measure(name: str, results: Path, *, quick: bool) -> None:
    print(f"measuring {name}", file=sys.stderr, flush=True)
    began = time.monotonic()
    measure = importlib.import_module(name).measure
    measured = measure(**QUICK.get(name, {"quick": True})) if quick else measure()
    rows = [_row(name, each) for each in measured]
    command = f"make bench BENCH={name}" if not quick else f"python benchmarks/run.py {name} --quick"
    versions = {} if quick else peers.versions(PEERS)
    merge(results, name, rows, command=command, seconds=time.monotonic() - began, peers=versions)
    print(tables(rows), flush=True)


if __name__ == "__main__":
    sys.exit(main())
