"""The trackers of a run: metrics.jsonl always, W&B or another of Lightning's loggers beside it."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import wandb
from pytorch_lightning.loggers import Logger, WandbLogger

from aiayn.training.leaves import locate, make
from aiayn.training.metrics_log import MetricsLog


@dataclass(frozen=True)
class RunDescription:
    """What a dashboard shows of a run besides its numbers."""

    run_id: str
    """The same over all goes."""
    name: str
    group: str
    """The sweep or table."""
    job_type: str
    """The row."""
    tags: tuple[str, ...]
    config: Mapping[str, Any]
    """The whole resolved configuration, plain."""


def check_tracker(settings: Mapping[str, Any]) -> None:
    """Refuse, before a run begins, a tracker that does not exist.

    Raises:
        UserError: there is no such `_target_`.
    """
    if settings.get("_target_") is not None:
        locate(settings, key="logger")


@contextmanager
def tracked(
    settings: Mapping[str, Any], description: RunDescription, *, metrics: Path, start_step: int
) -> Iterator[list[Logger]]:
    """The loggers of a run; a W&B run ends with exit code 0, or 1 where the block was left by an error.

    Args:
        settings: the logger's `_target_` and arguments; without a `_target_` there is only metrics.jsonl.
        description: for W&B.
        metrics: the file of metrics; W&B's offline run goes beside it.
        start_step: lines of `metrics` after this step are dropped.
    """
    loggers: list[Logger] = [MetricsLog(metrics, start_step=start_step)]
    if settings.get("_target_") is not None:
        loggers.append(_tracker(settings, description, metrics.parent))
    exit_code = 1
    try:
        yield loggers
        exit_code = 0
    finally:
        for logger in loggers:
            if isinstance(logger, WandbLogger):
                logger.experiment.finish(exit_code=exit_code)


def summarize(loggers: list[Logger], summary: Mapping[str, float | int | None]) -> None:
    """Set the numbers that stand for the run as a whole."""
    for logger in loggers:
        if isinstance(logger, WandbLogger):
            logger.experiment.summary.update(dict(summary))


def _tracker(settings: Mapping[str, Any], description: RunDescription, folder: Path) -> Logger:
    arguments = dict(settings)
    if str(settings["_target_"]).endswith("WandbLogger"):
        wandb.setup()  # reads WANDB_SILENT before Lightning passes a setting that it warns of
        arguments |= {
            "id": description.run_id,
            "resume": "allow",
            "name": description.name,
            "group": description.group,
            "job_type": description.job_type,
            "tags": list(description.tags),
            "config": dict(description.config),
            "save_dir": str(folder),
        }
    logger = make(arguments, key="logger")
    assert isinstance(logger, Logger)
    return logger
