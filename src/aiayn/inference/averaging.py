"""The mean of a run's checkpoints, as one more of its checkpoints."""

import logging
from dataclasses import dataclass
from pathlib import Path

from aiayn.config.command_schema import AverageConfig
from aiayn.config.freeze import thaw
from aiayn.config.schema import TrainConfig
from aiayn.config.values import whole
from aiayn.errors import UserError
from aiayn.paper.recipe import load_recipe
from aiayn.paper.table3 import load_table3
from aiayn.runs.directory import RunDirectory, average_name, open_run
from aiayn.runs.record import Record, read_record
from aiayn.system.quiet import quiet_libraries
from aiayn.system.resource_errors import disk_errors_explained
from aiayn.training.averaging import averaged_checkpoint, averaged_steps
from aiayn.training.checkpoint_io import AtomicCheckpointIO, load_checkpoint

logger = logging.getLogger("aiayn")


@dataclass(frozen=True)
class Average:
    """A mean of checkpoints."""

    path: Path
    steps: tuple[int, ...]
    """Of the checkpoints that it is the mean of, ascending."""


def average_run(request: AverageConfig) -> Average:
    """Average as asked; the same request writes the same file again.

    Raises:
        UserError: the run or a setting cannot be used, or the checkpoints are not there.
    """
    quiet_libraries()
    directory = open_run(request.run)
    config, record = thaw(directory.config), read_record(directory.record)
    is_stated = request.steps is not None
    chosen = _stated(directory, request) if is_stated else _last(directory, _count(config, request))
    if record.experiment.startswith("table3/"):
        logger.warning("Table 3 is without averaging (section 6.2): its report keeps the scores of the last weights")
    with disk_errors_explained(f"run={request.run}"):
        return _written(directory, chosen, record)


def average_at_the_end(config: TrainConfig, directory: RunDirectory, record: Record, *, step: int) -> Average | None:
    """What a run that states `averaging` averages after its last step; None where it does not.

    Raises:
        UserError: weights that are needed are not there any more, or damaged.
    """
    wanted = config.averaging
    if not wanted.checkpoints or config.trainer.get("fast_dev_run"):
        return None
    assert wanted.interval is not None, "which validation refuses"
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
            f"{asked}: {directory.checkpoints} has no weights of step {', '.join(missing)} any more: bring them back, "
            "or start anew with force=true"
        )
    try:
        return _written(directory, {each: kept[each] for each in steps}, record)
    except UserError as error:
        raise UserError(f"{asked}: {error}: bring the file back, or start anew with force=true") from None


def steps_averaged(checkpoint: Path) -> tuple[int, ...]:
    """The optimizer steps that a checkpoint is the mean of, ascending; none where it is no mean.

    Raises:
        UserError: it is an average that cannot be read.
    """
    if not checkpoint.name.startswith("average-"):
        return ()
    return tuple(load_checkpoint(checkpoint, provenance=None, map_location="meta")["aiayn"].get("averaged_steps", ()))


def _written(directory: RunDirectory, chosen: dict[int, Path], record: Record) -> Average:
    steps = tuple(chosen)
    content = averaged_checkpoint(list(chosen.values()), provenance=record.provenance)
    path = directory.checkpoints / f"{average_name(steps)}.ckpt"
    AtomicCheckpointIO().save_checkpoint(content, path)
    return Average(path, steps)


def _stated(directory: RunDirectory, request: AverageConfig) -> dict[int, Path]:
    """The checkpoints of the steps that were asked for."""
    asked = [whole(step) for step in (request.steps if isinstance(request.steps, list) else [request.steps])]
    if request.last is not None:
        raise UserError(f"last={request.last}: does not go with steps={request.steps}; leave one of them out")
    if not asked or any(type(step) is not int or step < 1 for step in asked):
        raise UserError(f"steps={request.steps}: state optimizer steps, as in steps=[100,200]")
    return dict(directory.checkpoint(str(step)) for step in sorted(set(asked)))


def _last(directory: RunDirectory, count: int) -> dict[int, Path]:
    """The last checkpoints: those kept to be averaged, or, where the run keeps none such, those it goes on from."""
    kept = directory.steps("weights") or directory.steps()
    if len(kept) < count:
        there = f"{len(kept)}, of steps {', '.join(map(str, kept))}" if kept else "none yet"
        raise UserError(
            f"last={count}: of checkpoints to average {directory.checkpoints} has {there}; state fewer, or train with "
            f"averaging.checkpoints={count}, which keeps them"
        )
    return dict(list(kept.items())[-count:])


def _count(config: TrainConfig, request: AverageConfig) -> int:
    """How many checkpoints are asked for."""
    last = whole(request.last)
    if last == "paper":
        return _papers_count(config)
    if last is None:
        if not config.averaging.checkpoints:
            raise UserError(f"last has no value, and run={request.run} states no averaging: state it, as in last=5")
        return config.averaging.checkpoints
    if type(last) is not int or last < 1:
        raise UserError(f"last={last}: state how many checkpoints, at least 1, or paper")
    return last


def _papers_count(config: TrainConfig) -> int:
    """What section 6.1 averages of a model of this size: the widths tell base and big apart at every scale."""
    table = load_table3()
    widths = {}
    for model, training in load_recipe().training.items():
        d_model = table.row(model).settings(table)["model.d_model"]
        widths[round(float(d_model) * config.scale.width)] = training.averaged_checkpoints
    if config.model.d_model not in widths:
        allowed = ", ".join(map(str, sorted(widths)))
        raise UserError(
            f"last=paper: section 6.1 averages base and big models, at this scale of model.d_model={allowed}; this one "
            f"has {config.model.d_model}: state last=<n>"
        )
    return widths[config.model.d_model]
