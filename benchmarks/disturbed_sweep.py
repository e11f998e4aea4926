"""A sweep to be disturbed: three rows of Table 3 in seconds, two processes each, and what its runs remember."""

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from aiayn.runs.directory import RunDirectory
from aiayn.runs.record import Status, read_record
from aiayn.system import machine

ROWS = ("table3/base", "table3/a_h4", "table3/e_learned")
STEPS = 160
PROCESSES = 2

SMALL = (
    "data.sentences=2000",
    "data.dev_sentences=60",
    "data.test_sentences=60",
    "data.max_length=60",
    "tokenizer.vocabulary_size=1000",
    "model.d_model=64",
    "model.d_ff=256",
    "model.num_layers=2",
    f"optimization.max_steps={STEPS}",
    "optimization.warmup_steps=60",
    "optimization.source_tokens=3000",
    "optimization.target_tokens=3000",
    "optimization.max_tokens_per_device=750",  # two micro-batches in each process
    "optimization.validation_interval=40",
    "optimization.checkpoint_interval=13",
    "decoding.beam_size=2",
    "trainer.log_every_n_steps=1",
    "trainer.accelerator=cpu",
    f"trainer.devices={PROCESSES}",
    "logger=none",
)
"""Dropout stays as the paper has it: a resumed step must draw the masks that it would have drawn."""

RECORDER = "+callbacks.recorder={_target_: observers.BatchRecorder, path: 'runs/${identity.experiment}/batches'}"

MARK = "AIAYN_DISTURBED_SWEEP"
"""Names the sweep in the environment of all its processes."""

ROOT = Path(__file__).parents[1]
SUPERVISORS = ("aiayn.launch.group", "torch.distributed.run")
WORKER = "aiayn.launch.worker"


@dataclass(frozen=True)
class Process:
    """A process of the sweep, as the system tells of it."""

    pid: int
    words: tuple[str, ...]
    """Its command line."""
    rank: int | None
    """Its number in a group; None outside one."""

    @property
    def module(self) -> str:
        """What was started with `python -m`."""
        return self.words[self.words.index("-m") + 1] if "-m" in self.words[:-1] else ""

    @property
    def role(self) -> str:
        """command, supervisor or rank 0, 1, ...; the rest are other."""
        if self.module == "aiayn":
            return "command"
        if self.module in SUPERVISORS:
            return "supervisor"
        return f"rank {self.rank}" if self.module == WORKER and self.rank is not None else "other"


@dataclass(frozen=True)
class Sweep:
    """A sweep in a folder of its own; it may be started again and again."""

    folder: Path
    cache: Path
    timeout_seconds: int
    """How long a rank waits for another."""

    @property
    def words(self) -> tuple[str, ...]:
        """What is typed behind `aiayn`."""
        wait = f"launch.timeout_seconds={self.timeout_seconds}"
        return ("train", "-m", f"experiment={','.join(ROWS)}", *SMALL, wait, RECORDER)

    @property
    def said(self) -> Path:
        """The standard error of the command, all attempts one after another."""
        return self.folder / "said.txt"

    def start(self) -> subprocess.Popen[bytes]:
        """Start the command and do not wait for it. Its output goes to files: a pipe would outlive it in a child."""
        self.folder.mkdir(parents=True, exist_ok=True)
        path = [str(ROOT / "src"), str(ROOT / "tests" / "integration"), os.environ.get("PYTHONPATH", "")]
        environment = {"AIAYN_CACHE": str(self.cache), "OMP_NUM_THREADS": "1", MARK: str(self.folder)}
        with self.said.open("ab") as said:
            return subprocess.Popen(
                [sys.executable, "-m", "aiayn", *self.words],
                cwd=self.folder,
                env={**os.environ, **environment, "PYTHONPATH": os.pathsep.join(filter(None, path))},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=said,
                start_new_session=True,
            )

    def processes(self) -> list[Process]:
        """Everything that was started for this sweep and runs, whoever its parent is now."""
        mark = f"{MARK}={self.folder}"
        found = []
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                environment = (entry / "environ").read_bytes().decode(errors="replace").split("\0")
                words = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")[:-1]
            except OSError:  # it has just ended, or is somebody else's
                continue
            if mark in environment and machine.is_alive(int(entry.name)):
                rank = next((word.partition("=")[2] for word in environment if word.startswith("RANK=")), None)
                found.append(Process(int(entry.name), tuple(words), None if rank is None else int(rank)))
        return found

    def group(self, run: RunDirectory) -> list[Process]:
        """Supervisor and ranks of a run: they name its folder."""
        name = "/".join(run.path.parts[-3:])
        return [
            each for each in self.processes() if each.role != "command" and any(name in word for word in each.words)
        ]

    def active(self) -> RunDirectory | None:
        """The run that has processes, if any."""
        running = [word for each in self.processes() if each.role != "command" for word in each.words]
        return next((run for run in self.runs().values() if any(_name(run) in word for word in running)), None)

    def runs(self) -> dict[str, RunDirectory]:
        """The runs that have begun, by row."""
        records = {row: list(self.folder.glob(f"runs/{row}/*/config.yaml")) for row in ROWS}
        return {row: RunDirectory(paths[0].parent) for row, paths in records.items() if paths}

    def unfinished(self) -> list[str]:
        """The rows whose runs have not finished."""
        runs = self.runs()
        return [row for row in ROWS if row not in runs or status(runs[row])[0] != Status.finished]

    def end(self) -> None:
        """Kill whatever is left."""
        for process in self.processes():
            try:
                os.kill(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                continue


def _name(run: RunDirectory) -> str:
    return "/".join(run.path.parts[-3:])


def status(run: RunDirectory) -> tuple[str, str | None]:
    """What the record of a run says: its status and its message."""
    if not run.record.is_file():
        return "none", None
    record = read_record(run.record)
    return record.status.value, record.message


def phase(run: RunDirectory | None) -> tuple[str, int]:
    """What a run was doing at this moment, and the steps that it had done."""
    if run is None:
        return "between runs", 0
    lines = _lines(run)
    step = max((line["step"] for line in lines), default=0)
    if not run.metrics.is_file() or run.metrics.stat().st_mtime < run.config.stat().st_mtime:
        return "starting", step
    return ("scoring" if step == STEPS else "training"), step


@dataclass(frozen=True)
class History:
    """What a finished run remembers of itself; two that are equal went the same way, step by step and bit by bit."""

    status: str
    steps: list[int]
    """Of the lines of training, in order."""
    losses: list[float]
    """At these steps, with label smoothing."""
    validations: list[tuple[int, float]]
    """Step and perplexity."""
    batches: list[str]
    """Each micro-batch that any process ever trained on, its step and its sentences; once, since steps that a kill has
    undone are done again."""
    tokens: int
    """As the record counts them: none twice."""
    weights: str
    """SHA-256 of the last checkpoint's tensors, Adam's among them."""
    scores: dict[str, list[float]]

    def differences(self, other: "History") -> list[str]:
        """The names of what is not the same."""
        own, theirs = asdict(self), asdict(other)
        return [name for name in own if own[name] != theirs[name]]


def history(run: RunDirectory) -> History:
    """Read what a finished run remembers."""
    record = read_record(run.record)
    lines = _lines(run)
    training = [line for line in lines if "train/loss" in line]
    _, checkpoint = run.checkpoint("last")
    content = torch.load(checkpoint, weights_only=True)
    return History(
        status=record.status.value,
        steps=[line["step"] for line in training],
        losses=[line["train/loss"] for line in training],
        validations=[(line["step"], line["val/ppl"]) for line in lines if "val/ppl" in line],
        batches=sorted(set((run.path.parent / "batches").read_text(encoding="utf-8").splitlines())),
        tokens=record.tokens,
        weights=_digest([content["state_dict"], content["optimizer_states"]]),
        scores={name: [each.ppl, each.quality.score, each.shown["chrF"].score] for name, each in record.scores.items()},
    )


def wait_until_gone(sweep: Sweep, run: RunDirectory | None, *, since: float, limit: float) -> float | None:
    """Seconds from a moment until no process of the run, or of the sweep, is left; None where that takes too long.

    Args:
        sweep: whose processes.
        run: only those of this run's group; None: all of the sweep.
        since: the moment, by the monotonic clock.
        limit: seconds from then on.
    """
    while sweep.processes() if run is None else sweep.group(run):
        if time.monotonic() - since > limit:
            return None
        time.sleep(0.05)
    return time.monotonic() - since


def _lines(run: RunDirectory) -> list[dict[str, Any]]:
    text = run.metrics.read_text(encoding="utf-8") if run.metrics.is_file() else ""
    return [json.loads(line) for line in text.splitlines() if line.endswith("}")]


def _digest(content: Any) -> str:
    digest = hashlib.sha256()
    for tensor in _tensors(content):
        digest.update(tensor.contiguous().numpy().tobytes())
    return digest.hexdigest()


def _tensors(content: Any) -> Iterable[torch.Tensor]:
    """Every tensor inside nested containers, in their order."""
    if isinstance(content, torch.Tensor):
        yield content
    elif isinstance(content, dict | list | tuple):
        for entry in content.values() if isinstance(content, dict) else content:
            yield from _tensors(entry)
