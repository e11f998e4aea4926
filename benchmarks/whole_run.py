"""What `aiayn train` keeps of the speed of its bare step; loader, Lightning, logging and progress bar cost the rest.

    AIAYN_DATA=... python benchmarks/whole_run.py

The real command and the bare loop train on the same batches in turns, each in a new process.
"""

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from statistics import median

from contest import SOURCES, Contender, contest, spread
from results import Mark, Row, tables
from texts import SMALL, TINY, Workload, settings

WINDOW = 10
"""Steps between two lines of a run's log."""


def measure(*, quick: bool = False) -> list[Row]:
    """Tokens a second of both, and their ratio pair by pair."""
    workload = replace(TINY if quick else SMALL, budget=256 if quick else 1024)
    pairs, steps = (1, 2 * WINDOW) if quick else (3, 4 * WINDOW)
    whole: list[float] = []
    bare: list[float] = []
    for number in range(pairs):
        with tempfile.TemporaryDirectory() as work:
            turns = [(whole, _whole), (bare, _bare)]
            for speeds, measured in turns if number % 2 else reversed(turns):
                speeds.append(measured(workload, Path(work), steps))
        print(
            f"whole run, pair {number}: {whole[-1]:,.0f} beside {bare[-1]:,.0f} tokens/s", file=sys.stderr, flush=True
        )
    title = f"Steps {WINDOW + 1} to {steps}, {workload.title}, {workload.corpus}, {workload.budget:,} tokens a side"
    ratio = spread([own / other for own, other in zip(whole, bare, strict=True)])
    return [
        Row(title, "bare loop", median(bare), "tokens/s"),
        Row(title, "aiayn train", median(whole), "tokens/s", ratio, rounds=pairs, mark=Mark(0.95)),
    ]


def _bare(workload: Workload, work: Path, steps: int) -> float:
    """Tokens a second of the steps behind the first window."""
    given = settings(workload, work, batches=steps)
    ours = Contender("aiayn", "trainers:aiayn", settings={"keep_memory": True})
    answers, failed = contest([ours], given, rounds=steps - WINDOW, warm_up=WINDOW, threads=_threads())
    assert not failed, failed
    return sum(each.work for each in answers["aiayn"]) / sum(each.seconds for each in answers["aiayn"])


def _whole(workload: Workload, work: Path, steps: int) -> float:
    """The same of the real command, by its own log."""
    words = [
        *workload.words(),
        f"optimization.max_steps={steps}",
        f"optimization.validation_interval={steps}",
        f"optimization.checkpoint_interval={steps}",
        f"trainer.log_every_n_steps={WINDOW}",
        "trainer.accelerator=cpu",
        "trainer.limit_val_batches=1",
        "decoding.beam_size=1",
        "decoding.limit_sentences=2",
        f"paths.runs={work / 'runs'}",
    ]
    subprocess.run(
        [sys.executable, "-m", "aiayn", "train", *words],
        env={**os.environ, "PYTHONPATH": str(SOURCES), "OMP_NUM_THREADS": str(_threads())},
        stdout=subprocess.DEVNULL,
        stderr=(work / "said").open("wb"),
        check=True,
    )
    (metrics,) = work.glob("runs/**/metrics.jsonl")
    lines: list[dict[str, float]] = [json.loads(line) for line in metrics.read_text(encoding="utf-8").splitlines()]
    seconds = {line["step"]: line["train/seconds"] for line in lines if "train/seconds" in line}
    speeds = {line["step"]: line["train/tokens_per_second"] for line in lines if "train/loss" in line}
    windows = [step for step in speeds if step > WINDOW]
    spans = [seconds[step] - seconds[step - WINDOW] for step in windows]
    return sum(speeds[step] * span for step, span in zip(windows, spans, strict=True)) / sum(spans)


def _threads() -> int:
    return os.cpu_count() or 1


if __name__ == "__main__":
    print(tables(measure(quick="--quick" in sys.argv[1:])))
