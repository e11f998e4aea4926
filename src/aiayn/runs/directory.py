"""The run directory: where everything of one run lies, and who may write there."""

import fcntl
import json
import math
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from aiayn import machine
from aiayn.config.errors import UserError

LOCK, HOLDER = ".lock", ".holder"
CHECKPOINT = re.compile(r"(?P<kind>step|best)-(?P<step>\d+)\.ckpt")


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
        """The folder of checkpoints: step-<n>.ckpt, best-<n>.ckpt."""
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
    def failures(self) -> Path:
        """What the ranks of a group that failed have to say, a file each."""
        return self.path / ".failures"

    def steps(self, kind: str = "step") -> dict[int, Path]:
        """The checkpoints of one kind, "step" or "best", by optimizer step, ascending."""
        found = {}
        for path in self.checkpoints.glob(f"{kind}-*.ckpt"):
            if match := CHECKPOINT.fullmatch(path.name):
                found[int(match["step"])] = path
        return dict(sorted(found.items()))

    def checkpoint(self, which: str) -> tuple[int, Path]:
        """The step and file of one checkpoint.

        Args:
            which: "last", "best", or an optimizer step.

        Raises:
            UserError: there is none such; the message lists what there is.
        """
        steps, best = self.steps(), self.steps("best")
        if which == "last" and steps:
            return next(reversed(steps.items()))
        if which == "best" and best:
            perplexities = self.validation_perplexities()
            step = min(best, key=lambda step: (perplexities.get(step, math.inf), -step))
            return step, best[step]
        if which.isdecimal() and int(which) in {**best, **steps}:
            return int(which), {**best, **steps}[int(which)]
        there = [*(["last"] if steps else []), *(["best"] if best else []), *map(str, sorted({**best, **steps}))]
        raise UserError(f"checkpoint={which}: {self.checkpoints} has {', '.join(there) or 'no checkpoint'}")

    def validation_perplexities(self) -> dict[int, float]:
        """`val/ppl` by step; a resumed run may leave more than one best checkpoint, and this tells them apart."""
        found = {}
        lines = self.metrics.read_text(encoding="utf-8").splitlines() if self.metrics.is_file() else []
        for line in lines:
            if '"val/ppl"' in line and line.endswith("}"):
                row = json.loads(line)
                found[int(row["step"])] = math.inf if row["val/ppl"] is None else float(row["val/ppl"])
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
        for path in (self.config, self.record, self.log, self.tokenizer, self.path / LOCK, self.path / HOLDER):
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
