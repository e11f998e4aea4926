"""Rows of Table 3, as many side by side as one device has room for, within a time limit."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from aiayn.builders.cost import model_cost
from aiayn.commands.front_end import main as aiayn
from aiayn.config import store
from aiayn.config.compose import compose_command
from aiayn.config.freeze import to_dataclass
from aiayn.config.schema import TrainConfig
from aiayn.models.cost import HALF
from aiayn.runs.record import Status, read_record
from aiayn.system import machine
from contest import SOURCES
from gpu_measures import forget

SECONDS = 480
"""The limit of the sweep: it then writes checkpoints, from which the same command continues."""

PROCESS_BYTES = 2 * 2**30
"""Memory of a process on a GPU beside its tensors: libraries, and the allocator's reserve. Not measured."""


def rows_side_by_side(
    words: Sequence[str], device: str, *, work: Path, rows: int | None = None, seconds: float = SECONDS
) -> dict[str, Any]:
    """Train the rows of Table 3, smallest first, and report them.

    Args:
        words: of `aiayn train`: scale, data and device.
        device: cuda or cpu.
        work: the folder of runs and prepared corpora.
        rows: how many, the smallest ones; None: all.
        seconds: after which the sweep is asked to stop.
    """
    forget(device)
    configs = {name: _config(name, words) for name in store.options("experiment") if name.startswith("table3/")}
    names = sorted(configs, key=lambda name: _flops(configs[name]))[:rows]
    largest = max(_bytes(configs[name]) for name in names)
    fitting = torch.cuda.mem_get_info()[0] // largest if device == "cuda" else len(names)
    at_once = max(1, min(len(names), len(machine.cores()), fitting))
    folders = [f"paths.runs={work / 'table3'}", f"paths.cache={work / 'cache'}"]
    sweep = ["-m", f"experiment={','.join(names)}", "hydra/launcher=joblib", f"hydra.launcher.n_jobs={at_once}"]
    shared = [f"launch.jobs_per_device={at_once}"] if device == "cuda" else []
    began = time.perf_counter()
    code = _train([*sweep, *words, *shared, *folders], seconds=seconds)
    records = [read_record(path) for path in (work / "table3").rglob("run.json")]
    finished = [record for record in records if record.status is Status.finished]
    figures: dict[str, Any] = {
        "rows": len(names),
        "finished": len(finished),
        "side by side": at_once,
        "seconds": round(time.perf_counter() - began),
    }
    if len(finished) < len(names):
        figures["failure"] = f"exit code {code}; the same command continues"
    report = work / "table3.md"
    if finished and aiayn(["report", "table3", f"only.scale={finished[0].scale}", *folders, f"output={report}"]) == 0:
        figures["report"] = report.read_text(encoding="utf-8")
    return figures


def _train(words: Sequence[str], *, seconds: float) -> int:
    """Run `aiayn train` in a process of its own; after `seconds` it is stopped, as by Ctrl-C. Its exit code."""
    paths = os.pathsep.join(filter(None, [str(SOURCES), os.environ.get("PYTHONPATH")]))
    process = subprocess.Popen(
        [sys.executable, "-m", "aiayn", "train", *words], env={**os.environ, "PYTHONPATH": paths}
    )
    try:
        return process.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)
        return process.wait()


def _config(name: str, words: Sequence[str]) -> TrainConfig:
    return to_dataclass(compose_command("train", [f"experiment={name}", *words]), TrainConfig)


def _flops(config: TrainConfig) -> float:
    recipe, cost = config.optimization, model_cost(config.model, vocabulary_size=config.tokenizer.vocabulary_size)
    step = cost.training_flops(source_tokens=recipe.source_tokens, target_tokens=recipe.target_tokens)
    return recipe.max_steps * step


def _bytes(config: TrainConfig) -> int:
    """An estimate of a training process's memory on a GPU."""
    recipe, cost = config.optimization, model_cost(config.model, vocabulary_size=config.tokenizer.vocabulary_size)
    tensors = cost.training_bytes(source_tokens=recipe.source_tokens, target_tokens=recipe.target_tokens, of=HALF)
    return PROCESS_BYTES + tensors
