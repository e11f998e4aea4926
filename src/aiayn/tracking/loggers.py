"""The trackers of a run: metrics.jsonl always, W&B or another of Lightning's loggers beside it."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from pytorch_lightning.loggers import Logger

from aiayn.config.instantiation import locate, make
from aiayn.tracking.metrics_log import MetricsLog, logged


@dataclass(frozen=True)
class RunDescription:
    """What a dashboard shows of a run besides its numbers."""

    run_id: str
    """The same over all attempts."""
    name: str
    is_swept: bool
    """Whether it is one of several runs that one command, or one agent, makes."""
    group: str
    """The sweep or table."""
    job_type: str
    """The row, and what the run changes in it."""
    tags: tuple[str, ...]
    notes: str
    """What it changes."""
    config: Mapping[str, Any]
    """The whole resolved configuration, plain."""
    checkout: Path | None
    """The git checkout that the code runs from."""


@dataclass(frozen=True)
class BestCheckpoint:
    """The weights that did best on the development set."""

    path: Path
    step: int
    ppl: float | None
    """`val/ppl` at that step, where it is known and a number."""


@runtime_checkable
class Tracker(Protocol):
    """A logger whose run has an end, and numbers that stand for the whole."""

    def summarize(self, summary: Mapping[str, float | int | None]) -> None:
        """Set these numbers."""

    def show_table(self, name: str, columns: Sequence[str], rows: Sequence[Sequence[object]], *, step: int) -> None:
        """Show a table of text and numbers, made at an optimizer step."""

    def upload(self, best: BestCheckpoint) -> None:
        """Upload the checkpoint, where that is wanted."""

    def finish(self, exit_code: int) -> None:
        """End the run."""


def check_tracker(settings: Mapping[str, Any]) -> None:
    """Refuse, before a run begins, a tracker that does not exist, or that W&B would refuse.

    Raises:
        UserError: there is no such `_target_`, or it takes no such argument.
    """
    if _is_wandb(settings):
        from aiayn.tracking.wandb_tracker import check_wandb  # imports wandb, which a run without it need not wait for

        check_wandb(settings)
    elif settings.get("_target_") is not None:
        locate(settings, key="logger")


@contextmanager
def tracked(
    settings: Mapping[str, Any],
    describe: Callable[[], RunDescription],
    *,
    metrics: Path,
    start_step: int,
    is_new: bool = False,
) -> Iterator[list[Logger]]:
    """The loggers of a run; a W&B run ends with exit code 0, or 1 where the block was left by an error.

    Args:
        settings: the logger's `_target_` and arguments; without a `_target_` there is only metrics.jsonl.
        describe: makes what W&B is told; not called without W&B, since it composes a configuration.
        metrics: the file of metrics; W&B's files go beside it.
        start_step: lines of `metrics` after this step are dropped.
        is_new: whether W&B knows the run under another id, if at all; it is told all that was logged before.
    """
    loggers: list[Logger] = [MetricsLog(metrics, start_step=start_step)]
    if _is_wandb(settings):
        from aiayn.tracking.wandb_tracker import open_wandb

        known = () if is_new else logged(metrics)  # a new W&B run is told all of it below
        best = min((row["val/ppl"] for _, row in known if "val/ppl" in row), default=math.inf)
        tracker: Logger | None = open_wandb(settings, describe(), metrics.parent, best=best)
    else:
        tracker = make(settings, key="logger") if settings.get("_target_") is not None else None
    loggers += [] if tracker is None else [tracker]
    exit_code = 1
    try:
        if is_new and tracker is not None:
            for step, row in logged(metrics):
                tracker.log_metrics(row, step)
        yield loggers
        exit_code = 0
    finally:
        for each in trackers(loggers):
            each.finish(exit_code)


def trackers(loggers: Sequence[Logger]) -> list[Tracker]:
    """Those of the loggers that take more than metrics."""
    return [logger for logger in loggers if isinstance(logger, Tracker)]


def _is_wandb(settings: Mapping[str, Any]) -> bool:
    return str(settings.get("_target_")).endswith("WandbLogger")
