"""Where an earlier attempt at a run left off: the newest checkpoint that can be trusted."""

import logging
from pathlib import Path

from aiayn.errors import UserError
from aiayn.runs.directory import RunDirectory
from aiayn.runs.record import Record
from aiayn.training.checkpoint_io import ForeignCheckpointError, load_checkpoint

logger = logging.getLogger("aiayn")


def newest_whole_checkpoint(directory: RunDirectory, record: Record) -> tuple[int, Path] | None:
    """The optimizer step and file of the checkpoint to go on from, or None where there is none at all.

    What `best-<n>.ckpt` holds is a whole checkpoint too. One that does not read whole, checksums and all, is renamed to
    `<name>.damaged`, with a warning: nobody takes it again, and it is in no new one's way.

    Args:
        directory: the run's folder, held by the caller.
        record: the run's.

    Raises:
        UserError: there are checkpoints and none of them is whole, or the newest one is another run's; all are left as
            they are.
    """
    there = [(step, kind, path) for kind in ("best", "step") for step, path in directory.steps(kind).items()]
    damaged: list[tuple[Path, UserError]] = []
    for step, _, path in sorted(there, reverse=True):  # of one step the "step" before the "best"
        try:
            # This reads and checks everything, and keeps no tensor.
            load_checkpoint(path, provenance=record.provenance, map_location="meta")
        except ForeignCheckpointError:
            raise
        except UserError as error:
            damaged.append((path, error))
        else:
            _set_aside(damaged, instead=path)
            return step, path
    if damaged:
        raise UserError(
            f"{damaged[0][1]}, and none of the {len(damaged)} checkpoints there is whole: bring one back, or start "
            "anew with force=true"
        )
    return None


def misses_validation(directory: RunDirectory, step: int, *, interval: int) -> bool:
    """Whether the attempt before was killed in the validation that is due after this optimizer step, or before it.

    Args:
        directory: the run's folder.
        step: the one that the run goes on from.
        interval: optimizer steps between two validations.
    """
    return step > 0 and step % interval == 0 and step not in directory.validation_perplexities()


def _set_aside(damaged: list[tuple[Path, UserError]], *, instead: Path) -> None:
    """Rename checkpoints out of the way, and say so."""
    for path, error in damaged:
        aside = path.replace(path.with_name(f"{path.name}.damaged"))
        logger.warning("%s; renamed to %s; going on from %s", error, aside.name, instead.name)
