"""The loggers of a run: metrics.jsonl always, and W&B or another of Lightning's loggers."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pytorch_lightning.loggers import Logger

from aiayn.config.instantiation import instantiate, locate
from aiayn.config.third_parties import logs_to_wandb
from aiayn.runs.directory import RunDirectory
from aiayn.system.plugins import note_source
from aiayn.tracking.metrics_log import MetricsLog
from aiayn.tracking.tracker import RunDescription, Tracker


def check_tracker(settings: Mapping[str, Any]) -> None:
    """Check the `logger` group before a run starts; UserError for an unknown `_target_` or argument."""
    if logs_to_wandb(settings):
        from aiayn.tracking.wandb_tracker import check_wandb  # imports wandb, which takes seconds

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
    """The loggers of a run; trackers finish with exit code 0, or 1 if the block raises.

    Without a `_target_` in the `logger` group `settings`, only the file `metrics` is written, whose lines after
    `start_step` are dropped; W&B's files go beside it. `describe` is called for W&B only. A tracker to which the run
    `is_new` has no earlier attempt, and is sent all earlier metrics.
    """
    loggers: list[Logger] = [MetricsLog(metrics, start_step=start_step)]
    tracker: Logger | None = None
    if logs_to_wandb(settings):
        from aiayn.tracking.wandb_tracker import open_wandb

        earlier = () if is_new else RunDirectory(metrics.parent).logged_metrics()
        best = min((row["val/ppl"] for _, row in earlier if "val/ppl" in row), default=math.inf)
        tracker = open_wandb(settings, describe(), metrics.parent, best=best)
    elif settings.get("_target_") is not None:
        tracker = instantiate(settings, key="logger")
        note_source(type(tracker), f"logger={settings['_target_']}")
    if tracker is not None:
        loggers.append(tracker)
    exit_code = 1
    try:
        if is_new and tracker is not None:
            for step, row in RunDirectory(metrics.parent).logged_metrics():
                tracker.log_metrics(row, step)
        yield loggers
        exit_code = 0
    finally:
        for each in trackers(loggers):
            each.finish(exit_code)


def trackers(loggers: Sequence[Logger]) -> list[Tracker]:
    """The loggers that take results of a whole run."""
    return [logger for logger in loggers if isinstance(logger, Tracker)]
