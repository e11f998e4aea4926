"""Checkpoint averaging (section 6.1): the weights that a run keeps for it, and their mean."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, final

from pytorch_lightning import Callback, LightningModule, Trainer
from torch import Tensor

from aiayn.errors import UserError
from aiayn.training.checkpoint_io import load_checkpoint


def averaged_steps(step: int, *, max_steps: int, interval: int, checkpoints: int) -> list[int]:
    """The optimizer steps whose weights are averaged after `step`, ascending; fewer near the start.

    They are counted back from `max_steps`, so that the last weights of the run are among them.
    """
    newest = step - (step - max_steps) % interval
    return sorted(each for each in (newest - interval * back for back in range(checkpoints)) if each > 0)


@final
class WeightsKeeper(Callback):
    """Writes `weights-<n>.ckpt` at the steps to be averaged, and removes those that no average needs any more.

    The files after a step follow from the step alone, also in a resumed run. Lightning calls this before the callbacks
    that write whole checkpoints, so that the weights due until any checkpoint are on disk.

    Args:
        folder: of the checkpoints.
        interval: optimizer steps between two files.
        checkpoints: number of files to keep.
    """

    def __init__(self, folder: Path, *, interval: int, checkpoints: int) -> None:
        self._folder = folder
        self._interval = interval
        self._checkpoints = checkpoints

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Remove the files of a killed attempt from steps that will be repeated."""
        if trainer.is_global_zero:
            for step, path in self._files():
                if step > trainer.global_step:
                    path.unlink(missing_ok=True)

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: object, batch: object, batch_idx: int
    ) -> None:
        """Write the weights of a step that is due; a collective operation."""
        step = trainer.global_step
        if (batch_idx + 1) % trainer.accumulate_grad_batches:
            return
        wanted = averaged_steps(
            step, max_steps=trainer.max_steps, interval=self._interval, checkpoints=self._checkpoints
        )
        if step not in wanted:
            return
        trainer.save_checkpoint(weights_path(self._folder, step), weights_only=True)
        if trainer.is_global_zero:
            for each, path in self._files():
                if each not in wanted:
                    path.unlink(missing_ok=True)

    def _files(self) -> Iterator[tuple[int, Path]]:
        for path in self._folder.glob("weights-*.ckpt"):
            if (number := path.stem.removeprefix("weights-")).isdecimal():
                yield int(number), path


def weights_path(folder: Path, step: int) -> Path:
    """The file of a step's weights."""
    return folder / f"weights-{step:07d}.ckpt"


def averaged_checkpoint(paths: Sequence[Path], *, provenance: Mapping[str, str | None] | None = None) -> dict[str, Any]:
    """The mean of checkpoints as a checkpoint of weights alone; they are read one at a time.

    Args:
        paths: checkpoints of models of one architecture, by step.
        provenance: of the run that all must come from, as for `load_checkpoint`; None: any run.

    Returns:
        Floating-point weights as their arithmetic mean, computed in double precision and rounded once to their own
        type; other weights from the last checkpoint. `aiayn.averaged_steps` has the steps, `aiayn.provenance` is the
        last one's.

    Raises:
        UserError: one cannot be read, has another model than the first, or is another run's.
    """
    assert paths, "a mean of nothing"
    sums: dict[str, Tensor] = {}
    steps: list[int] = []
    for path in paths:
        content = load_checkpoint(path, provenance=provenance)
        weights: dict[str, Tensor] = content["state_dict"]
        if steps:
            _check_same_model(weights, sums, path=path, first=paths[0])
        for name, weight in weights.items():
            if name in sums and weight.is_floating_point():
                sums[name] += weight
            else:
                sums[name] = weight.double() if weight.is_floating_point() else weight
        steps.append(int(content["global_step"]))
    means = {name: _mean(total, weights[name], count=len(paths)) for name, total in sums.items()}
    return {
        "state_dict": means,
        "global_step": steps[-1],
        "aiayn": {"averaged_steps": steps, "provenance": content["aiayn"].get("provenance", {})},
    }


def _mean(total: Tensor, like: Tensor, *, count: int) -> Tensor:
    return (total / count).to(like.dtype) if like.is_floating_point() else total


def _check_same_model(weights: dict[str, Tensor], first_weights: dict[str, Tensor], *, path: Path, first: Path) -> None:
    """Compare names, shapes and kinds of the weights; a UserError names the first difference."""
    for name in sorted({*weights, *first_weights}):
        own, theirs = (_kind(each.get(name)) for each in (weights, first_weights))
        if own != theirs:
            raise UserError(f"{path}: {name} is {own}, and {theirs} in {first.name}: the mean is of one architecture")


def _kind(weight: Tensor | None) -> str:
    if weight is None:
        return "not there"
    kind = "numbers" if weight.is_floating_point() else str(weight.dtype).removeprefix("torch.")
    return f"{kind} of shape {list(weight.shape)}"
