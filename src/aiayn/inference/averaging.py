"""The mean of a run's checkpoints, written as another checkpoint."""

import logging
from dataclasses import dataclass
from pathlib import Path

from aiayn.config.command_schema import AverageConfig
from aiayn.config.freeze import load_config
from aiayn.config.schema import TrainConfig
from aiayn.errors import UserError
from aiayn.paper.recipe import load_recipe
from aiayn.paper.tables import load_table3
from aiayn.runs.directory import RunDirectory, average_name, open_run
from aiayn.runs.record import Record, read_record
from aiayn.runs.weights_file import published_weights
from aiayn.system.quiet import quiet_libraries
from aiayn.system.resource_errors import disk_errors_explained
from aiayn.training.averaging import averaged_checkpoint, averaged_steps
from aiayn.training.checkpoint_io import load_checkpoint, save_checkpoint

logger = logging.getLogger("aiayn")


@dataclass(frozen=True)
class Average:
    """A mean of checkpoints."""

    path: Path
    steps: tuple[int, ...]
    """Ascending."""


def average_run(request: AverageConfig) -> Average:
    """Average checkpoints; the same request overwrites the same file.

    Raises:
        UserError: the run or a setting cannot be used, or checkpoints are missing.
    """
    quiet_libraries()
    directory = open_run(request.run)
    if directory.is_published:
        raise UserError(f"run={request.run}: is a published run, which has a single checkpoint; average the run itself")
    config, record = load_config(directory.config), read_record(directory.record)
    has_steps = request.steps is not None
    chosen = _stated(directory, request) if has_steps else _last(directory, _count(config, request))
    if record.experiment.startswith("table3/"):
        logger.warning("Table 3 uses no averaging (section 6.2): its report keeps the scores of the last checkpoint")
    with disk_errors_explained(f"run={request.run}"):
        return _write(directory, chosen, record)


def average_at_the_end(config: TrainConfig, directory: RunDirectory, record: Record, *, step: int) -> Average | None:
    """Average the last checkpoints of a trained run, if configured; UserError if weights are missing or damaged."""
    wanted = config.averaging
    if not wanted.checkpoints or config.trainer.get("fast_dev_run"):
        return None
    assert wanted.interval is not None, "validation refuses this"
    steps = averaged_steps(
        step,
        max_steps=config.optimization.max_steps,
        interval=wanted.interval,
        checkpoints=wanted.checkpoints,
    )
    asked = f"averaging.checkpoints={wanted.checkpoints}"
    if len(steps) < wanted.checkpoints:
        logger.warning("%s: only %s by step %s, one every %s steps", asked, len(steps), step, wanted.interval)
    if not steps:
        return None
    kept = directory.steps("weights")
    if missing := [str(each) for each in steps if each not in kept]:
        raise UserError(
            f"{asked}: {directory.checkpoints} has no weights of step {', '.join(missing)}; restore them, "
            "or start again with force=true"
        )
    try:
        return _write(directory, {each: kept[each] for each in steps}, record)
    except UserError as error:
        raise UserError(f"{asked}: {error}; restore the file, or start again with force=true") from None


def steps_averaged(checkpoint: Path) -> tuple[int, ...]:
    """The steps that a checkpoint averages, ascending; empty for a single checkpoint."""
    if checkpoint.suffix == ".safetensors":
        return published_weights(checkpoint).averaged_steps
    if not checkpoint.name.startswith("average-"):
        return ()
    return tuple(load_checkpoint(checkpoint, provenance=None, map_location="meta")["aiayn"].get("averaged_steps", ()))


def _write(directory: RunDirectory, chosen: dict[int, Path], record: Record) -> Average:
    steps = tuple(chosen)
    content = averaged_checkpoint(list(chosen.values()), provenance=record.provenance)
    path = directory.checkpoints / f"{average_name(steps)}.ckpt"
    save_checkpoint(content, path)
    return Average(path, steps)


def _stated(directory: RunDirectory, request: AverageConfig) -> dict[int, Path]:
    asked = request.steps if isinstance(request.steps, list) else [request.steps]
    if request.last is not None:
        raise UserError(f"last={request.last}: cannot be combined with steps={request.steps}; leave one out")
    if not asked or any(step < 1 for step in asked):
        raise UserError(f"steps={request.steps}: state optimizer steps, as in steps=[100,200]")
    return dict(directory.checkpoint(str(step)) for step in sorted(set(asked)))


def _last(directory: RunDirectory, count: int) -> dict[int, Path]:
    """The last checkpoints among the weights kept for averaging, else among those for resuming."""
    kept = directory.steps("weights") or directory.steps()
    if len(kept) < count:
        available = f"{len(kept)}, of steps {', '.join(map(str, kept))}" if kept else "none yet"
        raise UserError(
            f"last={count}: {directory.checkpoints} has {available}; state fewer, or train with "
            f"averaging.checkpoints={count}, which keeps them"
        )
    return dict(list(kept.items())[-count:])


def _count(config: TrainConfig, request: AverageConfig) -> int:
    """The number of checkpoints to average: `last`, or as the run states."""
    last = request.last
    if last == "paper":
        return _paper_count(config)
    if last is None:
        if not config.averaging.checkpoints:
            raise UserError(f"last has no value, and run={request.run} states no averaging; state it, as in last=5")
        return config.averaging.checkpoints
    if type(last) is not int or last < 1:
        raise UserError(f"last={last}: state a number of checkpoints, at least 1, or paper")
    return last


def _paper_count(config: TrainConfig) -> int:
    """The number that section 6.1 averages for base or big, identified by d_model at the run's scale."""
    table = load_table3()
    widths = {}
    for model, training in load_recipe().training.items():
        d_model = table.row(model).settings(table)["model.d_model"]
        widths[round(float(d_model) * config.scale.width)] = training.averaged_checkpoints
    if config.model.d_model not in widths:
        allowed = ", ".join(map(str, sorted(widths)))
        raise UserError(
            f"last=paper: section 6.1 averages base and big models, at this scale of model.d_model={allowed}; this one "
            f"has {config.model.d_model}; state last=<n>"
        )
    return widths[config.model.d_model]
