"""How long commands take to answer, a run to its first step, and a sweep to go from job to job.

`.venv/bin/python benchmarks/start_up.py` prints the table. Everything is compared with importing torch and Lightning in
a process of its own, measured in turn with it: times alone say more of what else the machine is at. Without W&B, on the
embedded corpus, already prepared, with a tiny model.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tiny_sizes import SIZES

TINY = (*SIZES, "optimization.max_steps=1", "logger=none")

COMMANDS = (
    ("--help",),
    ("train", "--cfg", "job"),
    ("plan",),
    ("plan", "sweeps=table3"),
    ("status",),
    ("report", "table3"),
    ("report", "paper"),
)

IMPORTS = ("-c", "import torch, pytorch_lightning")

SWEEPS = (1, 5, 20)
"""Numbers of jobs."""


def measure(*, repetitions: int = 3, sweeps: Sequence[int] = SWEEPS) -> list[dict[str, Any]]:
    """Every row of the table: what, seconds (median), and the ratio to the imports (median of the pairs' ratios).

    Args:
        repetitions: pairs of a command and the imports.
        sweeps: numbers of jobs.
    """
    with tempfile.TemporaryDirectory(prefix="aiayn-start-up-") as name:
        folder = Path(name)
        _aiayn(folder, "train", *TINY)  # prepares the corpus, and gives `status` and `report` something to read
        rows = [_compared(folder, " ".join(("aiayn", *words)), words, repetitions) for words in COMMANDS]
        first = ("train", *TINY, "force=true")
        rows.append(_compared(folder, "aiayn train, to its first step", first, repetitions, until_metrics=True))
        rows += [_sweep(folder, jobs, is_forked=True) for jobs in sweeps]
        rows += [_sweep(folder, jobs, is_forked=False) for jobs in sweeps[:2]]
        return rows


def _compared(
    folder: Path, what: str, words: Sequence[str], repetitions: int, *, until_metrics: bool = False
) -> dict[str, Any]:
    """One command and the imports in turn."""
    seconds, ratios = [], []
    for _ in range(repetitions):
        imports = _timed([sys.executable, *IMPORTS], folder)
        seconds.append(_to_first_step(folder, *words) if until_metrics else _aiayn(folder, *words))
        ratios.append(seconds[-1] / imports)
    return {"what": what, "seconds": statistics.median(seconds), "of the imports": statistics.median(ratios)}


def _sweep(folder: Path, jobs: int, *, is_forked: bool) -> dict[str, Any]:
    """A sweep of one-step jobs, by the job."""
    imports = _timed([sys.executable, *IMPORTS], folder)
    runs = tempfile.mkdtemp(dir=folder)
    seeds = ",".join(str(seed) for seed in range(1, jobs + 1))
    words = ("-m", f"seed={seeds}", f"paths.runs={runs}", f"launch.fork_jobs={str(is_forked).lower()}")
    seconds = _aiayn(folder, "train", *TINY, *words) / jobs
    how = "forked" if is_forked else "fresh processes"
    return {"what": f"sweep of {jobs}, {how}: a job", "seconds": seconds, "of the imports": seconds / imports}


def _to_first_step(folder: Path, *words: str) -> float:
    """Until the first line of metrics.jsonl: the step, and what it takes to log it."""
    for metrics in folder.glob("runs/*/*/*/metrics.jsonl"):
        metrics.unlink()
    started = time.perf_counter()
    with subprocess.Popen(
        _command(*words),
        cwd=folder,
        env=_environment(folder),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as run:
        while not any(path.stat().st_size for path in folder.glob("runs/*/*/*/metrics.jsonl")):
            assert run.poll() in (None, 0)
            time.sleep(0.005)
        return time.perf_counter() - started


def _aiayn(folder: Path, *words: str) -> float:
    return _timed(_command(*words), folder)


def _command(*words: str) -> list[str]:
    return [sys.executable, "-m", "aiayn", *words]


def _timed(command: Sequence[str], folder: Path) -> float:
    started = time.perf_counter()
    subprocess.run(command, cwd=folder, env=_environment(folder), capture_output=True, check=True)
    return time.perf_counter() - started


def _environment(folder: Path) -> dict[str, str]:
    return {**os.environ, "AIAYN_CACHE": str(folder / "cache")}


def main() -> None:
    """Print the table as Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=3)
    rows = measure(repetitions=parser.parse_args().repetitions)
    print("| what | seconds | of importing torch and Lightning |\n|---|---|---|")
    for row in rows:
        print(f"| {row['what']} | {row['seconds']:.2f} | {row['of the imports']:.2f} |")


if __name__ == "__main__":
    main()
