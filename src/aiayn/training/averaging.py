"""Checkpoint averaging (section 6.1)."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from torch import Tensor

from aiayn.errors import UserError
from aiayn.training.checkpoint_io import load_checkpoint


def averaged_steps(step: int, *, max_steps: int, interval: int, checkpoints: int) -> range:
    """The optimizer steps averaged after `step`, counted back from `max_steps`; fewer near the start."""
    newest = step - (step - max_steps) % interval
    return range(newest, max(0, newest - interval * checkpoints), -interval)[::-1]


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
        steps.append(content["global_step"])
    return {
        "state_dict": {
            name: (total / len(paths)).to(weights[name].dtype) if total.is_floating_point() else total
            for name, total in sums.items()
        },
        "global_step": steps[-1],
        "aiayn": {"averaged_steps": steps, "provenance": content["aiayn"]["provenance"]},
    }


def _shapes(weights: Mapping[str, Tensor]) -> set[tuple[str, tuple[object, ...]]]:
    return {(name, (weight.is_floating_point(), *weight.shape)) for name, weight in weights.items()}
