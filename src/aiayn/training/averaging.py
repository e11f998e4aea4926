"""Checkpoint averaging (section 6.1)."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, final

from pytorch_lightning import Callback, LightningModule, Trainer
from torch import Tensor

from aiayn.errors import UserError
from aiayn.runs.directory import RunDirectory
from aiayn.training.checkpoint_io import load_checkpoint


def averaged_steps(step: int, *, max_steps: int, interval: int, checkpoints: int) -> list[int]:
    """The optimizer steps averaged after `step`, counted back from `max_steps`; fewer near the start."""
    newest = step - (step - max_steps) % interval
    return sorted(each for each in (newest - interval * back for back in range(checkpoints)) if each > 0)


@final
class WeightsKeeper(Callback):
    """Writes `weights-<n>.ckpt` at the steps to be averaged, and removes those no longer needed.

    The kept steps follow from the current one, also in a resumed run. Lightning calls this before the callbacks that
    write whole checkpoints, so the weights due until any checkpoint are on disk.
    """

    def __init__(self, directory: RunDirectory, *, interval: int, checkpoints: int) -> None:
        self._directory = directory
        self._interval = interval
        self._checkpoints = checkpoints

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Remove the files of a killed attempt from steps that will be repeated."""
        if trainer.is_global_zero:
            self._remove(lambda step: step > trainer.global_step)

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: object, batch: object, batch_idx: int
    ) -> None:
        """Write the weights if the step is due; a collective operation."""
        step = trainer.global_step
        wanted = averaged_steps(
            step, max_steps=trainer.max_steps, interval=self._interval, checkpoints=self._checkpoints
        )
        if (batch_idx + 1) % trainer.accumulate_grad_batches or step not in wanted:
            return
        trainer.save_checkpoint(self._directory.checkpoints / f"weights-{step:07d}.ckpt", weights_only=True)
        if trainer.is_global_zero:
            self._remove(lambda step: step not in wanted)

    def _remove(self, is_unwanted: Callable[[int], bool]) -> None:
        for step, path in self._directory.steps("weights").items():
            if is_unwanted(step):
                path.unlink(missing_ok=True)


def averaged_checkpoint(paths: Sequence[Path], *, provenance: Mapping[str, str | None] | None = None) -> dict[str, Any]:
    """The mean of checkpoints of one architecture, in the order of their steps, as a checkpoint of weights alone.

    Floating-point weights are averaged in double precision and rounded once; others are the last checkpoint's.

    Raises:
        UserError: one cannot be read, has another model than the first, or another provenance than stated.
    """
    assert paths, "a mean of nothing"
    sums: dict[str, Tensor] = {}
    steps: list[int] = []
    for path in paths:
        content = load_checkpoint(path, provenance=provenance)
        weights: dict[str, Tensor] = content["state_dict"]
        if steps and (names := sorted(dict(_shapes(weights) ^ _shapes(sums)))):
            raise UserError(f"{path}: {names[0]} has another shape than in {paths[0].name}: average one architecture")
        for name, weight in weights.items():
            if not weight.is_floating_point():
                sums[name] = weight
            elif name in sums:
                sums[name] += weight
            else:
                sums[name] = weight.double()
        steps.append(int(content["global_step"]))
    return {
        "state_dict": {
            name: (total / len(paths)).to(weights[name].dtype) if total.is_floating_point() else total
            for name, total in sums.items()
        },
        "global_step": steps[-1],
        "aiayn": {"averaged_steps": steps, "provenance": content["aiayn"].get("provenance", {})},
    }


def _shapes(weights: Mapping[str, Tensor]) -> set[tuple[str, tuple[object, ...]]]:
    return {(name, (weight.is_floating_point(), *weight.shape)) for name, weight in weights.items()}
