"""What W&B never got of a run: written for it as one more offline attempt, which `aiayn sync` sends like the others."""

import math
from collections.abc import Sequence

from aiayn.config.freeze import load_config
from aiayn.config.third_parties import logs_to_wandb
from aiayn.runs.directory import RunDirectory
from aiayn.runs.record import Status, read_record
from aiayn.tracking.sync import Row
from aiayn.tracking.wandb_internals import STEP


def write_rest(directory: RunDirectory, rows: Sequence[Row]) -> None:
    """Write these of a run's metrics as an offline attempt, whose summary is that of all metrics and scores.

    A run that does not log to W&B, or a W&B that does not start, gets none. The caller holds the lock.

    Raises:
        UserError: the record or the configuration cannot be read.
    """
    record, config = read_record(directory.record), load_config(directory.config)
    if not logs_to_wandb(config.logger):
        return
    from aiayn.builders.training import describe  # imports torch and Lightning
    from aiayn.tracking.final_results import summary
    from aiayn.tracking.wandb_tracker import open_wandb

    description = describe(config, run_id=record.run_id, commit=record.commit, dirty=record.dirty)
    # Whatever is logged now is older than the newest values, which the summary gets below.
    tracker = open_wandb({**config.logger, "mode": "offline"}, description, directory.path, best=-math.inf)
    if tracker is None:
        return
    for step, values in rows:
        tracker.log_metrics(values, step)
    logged = [{STEP: step, **values} for step, values in directory.logged_metrics()]
    latest = {key: value for values in logged for key, value in values.items()}
    perplexities = [values["val/ppl"] for values in logged if "val/ppl" in values]
    best = {"val/ppl_min": min(perplexities)} if perplexities else {}
    tracker.log_summary({**latest, **best, **(summary(record) if record.scores else {})})
    tracker.finish(0 if record.status is Status.finished else 1)
