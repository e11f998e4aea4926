"""The weights of checkpoints: read, and loaded into models."""

from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor

from aiayn.errors import UserError
from aiayn.training.checkpoint_content import check_fit
from aiayn.training.checkpoint_io import load_checkpoint


def load_weights(model: torch.nn.Module, path: Path, *, key: str, provenance: Mapping[str, str | None] | None) -> None:
    """Load the weights of a checkpoint into a model of the same architecture, in place.

    Raises:
        UserError: the file, named by `key`, cannot be read, is another run's, or its weights have another shape.
    """
    fit_weights(model, read_weights(path, provenance=provenance), path, key=key)


def read_weights(path: Path, *, provenance: Mapping[str, str | None] | None) -> dict[str, Tensor]:
    """The model's weights in a checkpoint, by parameter name; `provenance` as for `load_checkpoint`."""
    state = load_checkpoint(path, provenance=provenance)["state_dict"]
    return {name.removeprefix("model."): value for name, value in state.items() if name.startswith("model.")}


def fit_weights(model: torch.nn.Module, weights: Mapping[str, Tensor], path: Path, *, key: str) -> None:
    """Copy weights into a model, or only compare them on the meta device."""
    try:
        check_fit(model, weights)
        model.load_state_dict(weights, assign=any(weight.is_meta for weight in model.parameters()))
    except (RuntimeError, ValueError) as error:  # RuntimeError: of a module of the user's own
        reason = str(error).splitlines()[-1].strip()
        raise UserError(
            f"{key}={path}: its weights do not fit this model ({reason}); state the settings of its model"
        ) from None


def finite_weights(model: torch.nn.Module, checkpoint: Path) -> dict[str, Tensor]:
    """Copies of a model's weights by name, of which no two share memory; UserError if some are not finite."""
    weights = model.state_dict()
    if not all(bool(weight.isfinite().all()) for weight in weights.values()):
        raise UserError(
            f"checkpoint={checkpoint}: some weights are not finite, since the model diverged; name an earlier one"
        )
    return {name: weight.contiguous().clone() for name, weight in weights.items()}
