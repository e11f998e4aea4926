"""The run directory: the layout of one run's files, and the lock on them."""

import fcntl
import hashlib
import math
import os
import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import IO

from aiayn.errors import UserError
from aiayn.registry import named, run_elsewhere
from aiayn.runs.weights_file import published_weights
from aiayn.system import files, machine
from aiayn.system.documents import parse_as

LOCK, HOLDER = ".lock", ".holder"
CHECKPOINT = re.compile(r"(?P<kind>step|best|weights)-(?P<step>\d+)\.ckpt")
AVERAGE = re.compile(r"average-of(?P<count>\d+)-(?P<first>\d+)-(?P<step>\d+)(-[0-9a-f]{8})?\.ckpt")


class HeldDirectoryError(UserError):
    """Another process has locked the run directory."""

    def __init__(self, path: Path, holder: str) -> None:
        super().__init__(f"{path}: locked by {holder}; wait until it ends, or choose another seed")
        self.path = path
        self.holder = holder
        """Such as "process 71 on host"."""


@dataclass(frozen=True)
class _Inside:
    """An attribute of `RunDirectory` that is a path inside it."""

    name: str

    def __get__(self, directory: "RunDirectory", _: type) -> Path:
        return directory.path / self.name


@dataclass(frozen=True)
class RunDirectory:
    """The layout of one run's folder."""

    path: Path

    config = _Inside("config.yaml")
    """The frozen configuration."""
    record = _Inside("run.json")
    metrics = _Inside("metrics.jsonl")
    """One JSON object a line, by optimizer step."""
    log = _Inside("run.log")
    tokenizer = _Inside("tokenizer.json")
    """A copy, so that the run can be used without its corpus."""
    checkpoints = _Inside("checkpoints")
    """The folder of step-<n>.ckpt, best-<n>.ckpt, weights-<n>.ckpt and average-....ckpt."""
    weights = _Inside("model.safetensors")
    """Of a published run: the weights of its only checkpoint."""
    evaluations = _Inside("evaluations")
    """Hypotheses and scores, one folder for each checkpoint and search."""
    attention = _Inside("attention")
    """Attention maps: pictures, and the weights of each checkpoint as step-<n>.json."""
    cost = _Inside(".cost.json")
    """The cost of the attempts so far, while one is running or after it was killed."""
    failures = _Inside(".failures")
    """The failures of a group's ranks, one file each."""
    sweeps_file = _Inside("sweeps.txt")
    """The names of the sweeps that asked for the run, a line each."""
    repeats_file = _Inside(".repeats")
    """The number of times that the run was trained anew after it had finished; `clear` keeps this file."""
    replay_file = _Inside("replay.json")
    """Marks the replay of another run's record, which no report counts."""

    @property
    def is_published(self) -> bool:
        """Whether this is what `aiayn publish` makes of a run: its weights, without training state."""
        return files.is_file(self.weights)

    def source_patch(self, digest: str) -> Path:
        """The uncommitted changes of the code of an attempt."""
        return self.path / f"source-{digest}.patch"

    def package_lock(self, digest: str) -> Path:
        """The names and versions of the packages of an attempt."""
        return self.path / f"packages-{digest}.txt"

    @property
    def sweeps(self) -> list[str]:
        """The sweeps that asked for the run, in order."""
        try:
            return files.read_text(self.sweeps_file).splitlines()
        except FileNotFoundError:
            return []

    def join_sweep(self, name: str) -> None:
        """Add a sweep to those that asked for the run; the caller holds the lock."""
        if name not in (known := self.sweeps):
            files.write_text(self.sweeps_file, "".join(f"{each}\n" for each in (*known, name)))

    def steps(self, kind: str = "step") -> dict[int, Path]:
        """The checkpoints of one kind, "step", "best" or "weights", by optimizer step, ascending."""
        found = {}
        for path in files.listed(self.checkpoints, f"{kind}-*.ckpt"):
            if match := CHECKPOINT.fullmatch(path.name):
                found[int(match["step"])] = path
        return dict(sorted(found.items()))

    def averages(self) -> dict[str, tuple[int, Path]]:
        """The averages of checkpoints, by name: the last step averaged, and the file."""
        found = {}
        for path in files.listed(self.checkpoints, "average-*.ckpt"):
            if match := AVERAGE.fullmatch(path.name):
                found[path.stem] = (int(match["step"]), path)
        return found

    def checkpoint_names(self) -> list[str]:
        """What `checkpoint` takes; a published run's only checkpoint has several names."""
        if self.is_published:
            known = published_weights(self.weights)
            return ["last", str(known.step), known.checkpoint, *(["average"] if known.averaged_steps else [])]
        steps, best, averages = self.steps(), self.steps("best"), self.averages()
        named = {"last": steps, "best": best, "average": len(averages) == 1}
        numbers = sorted({*self.steps("weights"), *best, *steps})
        return [*(name for name, there in named.items() if there), *averages, *map(str, numbers)]

    def checkpoint(self, which: str) -> tuple[int, Path]:
        """The step and file of a checkpoint: "last", "best", "average", an optimizer step, or the name of an average.

        Raises:
            UserError: there is no such checkpoint; the message lists the existing ones.
        """
        if self.is_published:
            return self._published_checkpoint(which)
        steps, best, averages = self.steps(), self.steps("best"), self.averages()
        if which == "average" and len(averages) > 1:
            raise UserError(f"checkpoint=average: there are several; state one by its name: {', '.join(averages)}")
        if which == "average" and not averages:
            raise UserError(f"checkpoint=average: {self.checkpoints} has none; make one: aiayn average run={self.path}")
        if which in ("average", *averages):
            return averages[next(iter(averages)) if which == "average" else which]
        if which == "last" and steps:
            return next(reversed(steps.items()))
        if which == "best" and best:
            perplexities = self.validation_perplexities()
            step = min(best, key=lambda step: (perplexities.get(step, math.inf), -step))
            return step, best[step]
        by_step = {**self.steps("weights"), **best, **steps}
        if which.isdecimal() and int(which) in by_step:
            return int(which), by_step[int(which)]
        if not files.is_dir(self.checkpoints):
            raise UserError(f"{self.path}: has neither checkpoints/ nor {self.weights.name}; restore or fetch them")
        raise UserError(
            f"checkpoint={which}: {self.checkpoints} has {', '.join(self.checkpoint_names()) or 'no checkpoint'}"
        )

    def _published_checkpoint(self, which: str) -> tuple[int, Path]:
        """The only checkpoint of a published run."""
        known = published_weights(self.weights)
        if which not in self.checkpoint_names():
            raise UserError(
                f"checkpoint={which}: {self.path} is a published run, whose only checkpoint is {known.checkpoint}; "
                "leave it out"
            )
        return known.step, self.weights

    def metric_rows(self, *, tail_bytes: int | None = None) -> Iterator[tuple[int, dict[str, float | None]]]:
        """Step and values, the step included, of every whole line of the metrics, or of those in their last bytes.

        Raises:
            UserError: the file cannot be read, or a line is not one of numbers; it is named.
        """
        try:
            with files.reading(self.metrics), self.metrics.open("rb") as stream:
                start = 0 if tail_bytes is None else max(0, stream.seek(0, os.SEEK_END) - tail_bytes)
                stream.seek(start)
                lines = stream.read().decode(errors="replace").split("\n")
        except FileNotFoundError:
            return
        if not lines[-1].endswith("}"):
            lines.pop()  # nothing, or the part of a line that a killed process has written
        for number, line in enumerate(lines, 1):
            if start == 0 or number > 1:
                yield metric_row(line, f"{self.metrics}: {'a line' if start else f'line {number}'}")

    def logged_metrics(self) -> Iterator[tuple[int, dict[str, float]]]:
        """The step and the finite numbers of each line of the metrics."""
        for step, values in self.metric_rows():
            yield step, {key: value for key, value in values.items() if key != "step" and value is not None}

    def validation_perplexities(self) -> dict[int, float]:
        """`val/ppl` by step, from the metrics; infinity for null."""
        found = {step: values["val/ppl"] for step, values in self.metric_rows() if "val/ppl" in values}
        return {step: math.inf if ppl is None else ppl for step, ppl in found.items()}

    @property
    def holder(self) -> str | None:
        """The process that holds the lock, such as "process 71 on host"; None if there is none or it is gone."""
        try:
            text = files.read_text(self.path / HOLDER)
        except FileNotFoundError:
            return None
        except UserError:  # not written by a process that holds the lock
            text = ""
        match = re.fullmatch(r"process (\d+) on (.+)", text)
        if match and (match[2] != os.uname().nodename or machine.is_alive(int(match[1]))):
            return text
        return None if self.is_free else "another process"  # workers that outlive a killed command for a moment

    @property
    def is_free(self) -> bool:
        """Whether the lock is free at this moment."""
        try:
            with files.reading(self.path / LOCK), (self.path / LOCK).open() as lock:
                return _is_taken(lock, fcntl.LOCK_SH)
        except FileNotFoundError:
            return True

    @property
    def repeats(self) -> int:
        """The number of times that the run was trained anew after it had finished."""
        try:
            return int(files.read_text(self.repeats_file))
        except FileNotFoundError:
            return 0
        except UserError:
            raise
        except ValueError as error:
            raise UserError(f"{self.repeats_file}: not a number of repeats ({error}); restore it") from None

    def count_repeat(self) -> None:
        """Add one to the repeats; the caller holds the lock."""
        files.write_text(self.repeats_file, f"{self.repeats + 1}\n")

    def clear(self) -> None:
        """Remove everything but the lock, which the caller holds, and the number of repeats."""
        for path in self.path.iterdir():
            if not path.is_symlink() and files.is_dir(path):
                shutil.rmtree(path)
            elif path.name not in (LOCK, HOLDER, self.repeats_file.name):
                path.unlink()

    def remove_partial_files(self) -> None:
        """Remove those of an attempt that was killed while it wrote; the caller holds the lock.

        Commands that need no lock write averages and evaluations, so a partial one may still be in use.
        """
        for path in (*files.listed(self.path, ".*.partial"), *files.listed(self.checkpoints, ".*.partial")):
            if not path.is_symlink() and files.is_file(path) and not path.name.startswith(".average-"):
                path.unlink(missing_ok=True)

    def remove_refused(self) -> None:
        """Remove the files of a run that was refused before it began."""
        own = (self.config, self.record, self.log, self.tokenizer, self.sweeps_file, self.replay_file)
        origins = (*self.path.glob("source-*.patch"), *self.path.glob("packages-*.txt"))
        for path in (*own, *origins, self.path / LOCK, self.path / HOLDER):
            path.unlink(missing_ok=True)

    @contextmanager
    def locked(self) -> Iterator[int]:
        """Lock the directory against other processes; HeldDirectoryError if one holds it.

        Yields:
            The descriptor of the lock; a process that inherits it holds the lock too, until it has ended.
        """
        files.make_folder(self.path)
        holder = self.path / HOLDER
        with files.writing(self.path / LOCK):
            lock = (self.path / LOCK).open("a")
        with lock:
            if not _is_taken(lock, fcntl.LOCK_EX):
                raise HeldDirectoryError(self.path, self.holder or "another process")
            with files.writing(holder):
                holder.write_text(f"process {os.getpid()} on {os.uname().nodename}", encoding="utf-8")
            try:
                yield lock.fileno()
            finally:
                holder.unlink(missing_ok=True)


def _is_taken(lock: IO[str], kind: int) -> bool:
    """Whether this process has taken an open lock, shared or exclusive; False if another holds it."""
    try:
        fcntl.flock(lock, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def metric_row(line: str, place: str) -> tuple[int, dict[str, float | None]]:
    """Step and values, the step included, of a line of metrics; UserError, which begins with the place."""
    values = parse_as(dict[str, float | None], line, place, remedy="correct or remove it")
    step = values.get("step")
    if step is None or not step.is_integer() or step < 0:
        raise UserError(f"{place}: step={step}: must be a whole number; correct or remove it")
    return int(step), values


def average_name(steps: Sequence[int]) -> str:
    """The name of an average without ".ckpt", unique for its ascending steps; uneven ones add a checksum."""
    name = f"average-of{len(steps)}-{steps[0]:07d}-{steps[-1]:07d}"
    if len({later - earlier for earlier, later in pairwise(steps)}) <= 1:
        return name
    return f"{name}-{hashlib.sha256(str(list(steps)).encode()).hexdigest()[:8]}"


def open_run(path: str, *, key: str = "run") -> RunDirectory:
    """The run directory that the user named under a configuration key; UserError if it is none.

    A published run is one too. Extensions know other names than paths, as hub:user/name.
    """
    fetch = run_elsewhere(path)
    directory = RunDirectory(Path(path) if fetch is None else named(fetch)(path, key=key))
    if not files.is_file(directory.record, key=key):
        raise UserError(
            f"{key}={path}: not a run directory (no {directory.record.name} there); `aiayn status` lists runs"
        )
    return directory


def named_runs(value: object) -> list[str]:
    """The paths that the user named: of one run directory, or of several for an ensemble; all exist."""
    names = value if isinstance(value, list) else [value]
    if not names or not all(isinstance(name, str | int | float) and str(name) for name in names):
        raise UserError(f"run={value}: state a run directory, or several as in run=[<one>,<another>]")
    return [str(open_run(str(name)).path) for name in names]
