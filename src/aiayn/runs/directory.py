"""The run directory: where everything of one run lies, and who may write there."""

import fcntl
import hashlib
import json
import math
import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from aiayn.errors import UserError
from aiayn.system import files, machine

LOCK, HOLDER = ".lock", ".holder"
CHECKPOINT = re.compile(r"(?P<kind>step|best|weights)-(?P<step>\d+)\.ckpt")
AVERAGE = re.compile(r"average-of(?P<count>\d+)-(?P<first>\d+)-(?P<step>\d+)(-[0-9a-f]{8})?\.ckpt")


class HeldDirectoryError(UserError):
    """Another process works in the run directory."""

    def __init__(self, path: Path, holder: str) -> None:
        super().__init__(f"{path}: {holder} is running here: wait for it, or choose another seed")
        self.path = path
        self.holder = holder
        """Such as "process 71 on host"."""


@dataclass(frozen=True)
class RunDirectory:
    """The layout of one run's folder."""

    path: Path

    @property
    def config(self) -> Path:
        """The frozen configuration that every process of the run reads."""
        return self.path / "config.yaml"

    @property
    def record(self) -> Path:
        """What the run was and what came of it."""
        return self.path / "run.json"

    @property
    def metrics(self) -> Path:
        """One JSON object a line, by optimizer step."""
        return self.path / "metrics.jsonl"

    @property
    def log(self) -> Path:
        """What was said while it ran."""
        return self.path / "run.log"

    @property
    def tokenizer(self) -> Path:
        """The run's own copy of its tokenizer, so that it can be used without its corpus."""
        return self.path / "tokenizer.json"

    @property
    def checkpoints(self) -> Path:
        """The folder of checkpoints: step-<n>.ckpt, best-<n>.ckpt; weights-<n>.ckpt and average-....ckpt."""
        return self.path / "checkpoints"

    @property
    def evaluations(self) -> Path:
        """Hypotheses, per-sentence scores and scores, one folder for each checkpoint and search."""
        return self.path / "evaluations"

    @property
    def exports(self) -> Path:
        """Models in the formats of other engines, one folder for each checkpoint and quantization."""
        return self.path / "exports"

    @property
    def attention(self) -> Path:
        """What positions attend to: pictures, and the weights of each checkpoint as step-<n>.json."""
        return self.path / "attention"

    @property
    def cost(self) -> Path:
        """What the attempts have cost so far, while one is under way, and after it was killed."""
        return self.path / ".cost.json"

    @property
    def failures(self) -> Path:
        """What the ranks of a group that failed have to say, a file each."""
        return self.path / ".failures"

    @property
    def sweeps_file(self) -> Path:
        """The names of the sweeps that asked for the run, a line each."""
        return self.path / "sweeps.txt"

    @property
    def sweeps(self) -> list[str]:
        """Which sweeps asked for the run, the first one first; runs from before this was noted have none.

        Raises:
            UserError: the file is no text.
        """
        try:
            return self.sweeps_file.read_text(encoding="utf-8").splitlines() if self.sweeps_file.is_file() else []
        except UnicodeDecodeError as error:
            raise UserError(f"{self.sweeps_file}: not the names of sweeps ({error}); remove it") from error

    def join_sweep(self, name: str) -> None:
        """Note that a sweep asked for the run, also where it was done before; the caller holds the lock."""
        if name not in (known := self.sweeps):
            files.write_text(self.sweeps_file, "".join(f"{each}\n" for each in (*known, name)))

    def steps(self, kind: str = "step") -> dict[int, Path]:
        """The checkpoints of one kind, "step", "best" or "weights", by optimizer step, ascending."""
        found = {}
        for path in self.checkpoints.glob(f"{kind}-*.ckpt"):
            if match := CHECKPOINT.fullmatch(path.name):
                found[int(match["step"])] = path
        return dict(sorted(found.items()))

    def averages(self) -> dict[str, tuple[int, Path]]:
        """The means of checkpoints, by name: the last of their steps, and the file."""
        found = {}
        for path in sorted(self.checkpoints.glob("average-*.ckpt")):
            if match := AVERAGE.fullmatch(path.name):
                found[path.stem] = (int(match["step"]), path)
        return found

    def checkpoint(self, which: str) -> tuple[int, Path]:
        """The step and file of one checkpoint.

        Args:
            which: "last", "best", "average", an optimizer step, or the name of an average.

        Raises:
            UserError: there is none such; the message lists what there is.
        """
        steps, best, averages = self.steps(), self.steps("best"), self.averages()
        if which in averages:
            return averages[which]
        if which == "average":
            return self._only_average(averages)
        if which == "last" and steps:
            return next(reversed(steps.items()))
        if which == "best" and best:
            perplexities = self.validation_perplexities()
            step = min(best, key=lambda step: (perplexities.get(step, math.inf), -step))
            return step, best[step]
        by_step = {**self.steps("weights"), **best, **steps}
        if which.isdecimal() and int(which) in by_step:
            return int(which), by_step[int(which)]
        there = [*(["last"] if steps else []), *(["best"] if best else []), *averages, *map(str, sorted(by_step))]
        raise UserError(f"checkpoint={which}: {self.checkpoints} has {', '.join(there) or 'no checkpoint'}")

    def _only_average(self, averages: Mapping[str, tuple[int, Path]]) -> tuple[int, Path]:
        """The run's average, where there is one and no other."""
        if not averages:
            raise UserError(f"checkpoint=average: {self.checkpoints} has none; make one: aiayn average run={self.path}")
        if len(averages) > 1:
            raise UserError(f"checkpoint=average: there are several; state one by its name: {', '.join(averages)}")
        return next(iter(averages.values()))

    def validation_perplexities(self) -> dict[int, float]:
        """`val/ppl` by step; a resumed run may leave more than one best checkpoint, and this tells them apart.

        Raises:
            UserError: a line of the metrics holds something else than numbers.
        """
        found = {}
        lines = (
            self.metrics.read_text(encoding="utf-8", errors="replace").splitlines() if self.metrics.is_file() else []
        )
        for line in lines:
            if '"val/ppl"' in line and line.endswith("}"):
                try:
                    row = json.loads(line)
                    found[int(row["step"])] = math.inf if row["val/ppl"] is None else float(row["val/ppl"])
                except (KeyError, TypeError, ValueError) as error:
                    raise UserError(f"{self.metrics}: a line holds no numbers ({error}); mend or remove it") from error
        return found

    @property
    def holder(self) -> str | None:
        """Who works here, such as "process 71 on host"; None where nobody does, or where that process is gone."""
        try:
            text = (self.path / HOLDER).read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
        match = re.fullmatch(r"process (\d+) on (.+)", text)
        if match and match[2] == os.uname().nodename and not machine.is_alive(int(match[1])):
            return None if self.is_free else "another process"  # workers that have outlived the command, for a moment
        return text

    @property
    def is_free(self) -> bool:
        """Whether nobody holds the directory at this moment."""
        try:
            lock = os.open(self.path / LOCK, os.O_RDONLY)
        except FileNotFoundError:
            return True
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        finally:
            os.close(lock)
        return True

    def clear(self) -> None:
        """Remove everything but the lock, which the caller holds."""
        for path in self.path.iterdir():
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            elif path.name not in (LOCK, HOLDER):
                path.unlink()

    def remove_refused(self) -> None:
        """Take back the files of a run that was refused before it did anything."""
        own = (self.config, self.record, self.log, self.tokenizer, self.sweeps_file)
        for path in (*own, self.path / LOCK, self.path / HOLDER):
            path.unlink(missing_ok=True)

    @contextmanager
    def locked(self) -> Iterator[int]:
        """Hold the directory against other processes.

        Yields:
            The descriptor of the lock: a process that inherits it holds the directory too, until it has ended.

        Raises:
            HeldDirectoryError: another process holds it.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        holder = self.path / HOLDER
        lock = os.open(self.path / LOCK, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise HeldDirectoryError(self.path, self.holder or "another process") from None
            try:
                holder.write_text(f"process {os.getpid()} on {os.uname().nodename}", encoding="utf-8")
                yield lock
            finally:
                holder.unlink(missing_ok=True)
                fcntl.flock(lock, fcntl.LOCK_UN)
        finally:
            os.close(lock)


def average_name(steps: Sequence[int]) -> str:
    """What the mean of checkpoints is called, without ".ckpt"; alike for the same steps, and for them alone.

    Args:
        steps: ascending. A checksum tells apart those that are not evenly spaced.
    """
    name = f"average-of{len(steps)}-{steps[0]:07d}-{steps[-1]:07d}"
    if len({later - earlier for earlier, later in pairwise(steps)}) <= 1:
        return name
    return f"{name}-{hashlib.sha256(str(list(steps)).encode()).hexdigest()[:8]}"


def open_run(path: str, *, key: str = "run") -> RunDirectory:
    """The run directory that the user named.

    Args:
        path: as typed.
        key: the configuration key to blame.

    Raises:
        UserError: it is none.
    """
    directory = RunDirectory(Path(path))
    if not directory.record.is_file():
        raise UserError(f"{key}={path}: not a run directory (no {directory.record.name} there)")
    return directory


def named_runs(value: object) -> list[str]:
    """The run directories that the user named: one, or a list of several whose models predict as one.

    Raises:
        UserError: none is named, or something else than a path.
    """
    names = value if isinstance(value, list) else [value]
    if not names or not all(isinstance(name, str | int | float) and str(name) for name in names):
        raise UserError(f"run={value}: state a run directory, or several as in run=[<one>,<another>]")
    return [str(name) for name in names]
