"""Runs that `wandb agent` asks for: below it W&B accepts the agent's run id, project and entity only."""

import logging
import os
from functools import partial

from aiayn.config.schema import TrainConfig
from aiayn.config.third_parties import logs_to_wandb
from aiayn.runs.directory import RunDirectory
from aiayn.runs.record import Record

logger = logging.getLogger("aiayn")


def agent_run_id(config: TrainConfig) -> str | None:
    """The run id that `wandb agent` gave to this attempt, or None without an agent or without W&B."""
    is_asked_for = "WANDB_SWEEP_ID" in os.environ and logs_to_wandb(config.logger)
    return os.environ.get("WANDB_RUN_ID") if is_asked_for else None


def log_to_agent(config: TrainConfig, directory: RunDirectory, record: Record) -> None:
    """Log a finished run under the id that an agent gave to this attempt, so that W&B's sweep has its results."""
    run_id = agent_run_id(config)
    if run_id is None or run_id == record.run_id:
        return
    from aiayn.builders.training import describe  # imports torch and Lightning
    from aiayn.system.quiet import quiet_libraries
    from aiayn.tracking.final_results import summary
    from aiayn.tracking.loggers import tracked, trackers

    quiet_libraries()
    logger.info("W&B: logged for the agent as run %s", run_id)
    with tracked(
        config.logger,
        partial(describe, config, run_id=run_id, commit=record.commit, dirty=record.dirty),
        metrics=directory.metrics,
        start_step=record.steps,
        is_new=True,
    ) as loggers:
        for each in trackers(loggers):
            each.log_summary(summary(record))
