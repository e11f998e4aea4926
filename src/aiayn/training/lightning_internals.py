"""Parts of Lightning that it does not document, where it has no public way; as read in 2.5.5 to 2.6.6.

`tests/unit/test_internals_of_others.py` compares them with the installed version.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytorch_lightning import Trainer

TRAINING_STATE = ("optimizer_states", "lr_schedulers", "callbacks", "loops", "pytorch-lightning_version")
"""Keys of a checkpoint without which Lightning cannot resume; `save_weights_only=true` leaves the first three out."""


def stop_broadcasts(trainer: "Trainer") -> None:
    """Leave out the broadcast of rank 0's signal before every micro-batch, for which all ranks would wait.

    A setting for it is proposed (pytorch-lightning#21640).
    """
    trainer.fit_loop.epoch_loop._broadcast_sigterm_tensor = lambda: None  # type: ignore[method-assign]  # noqa: SLF001


def validate_in_training(trainer: "Trainer") -> None:
    """Validate before a step of training; `Trainer.validate` would end the training."""
    trainer.validating = True
    trainer.fit_loop.epoch_loop.val_loop.run()
    trainer.training = True


def optimizer_steps(checkpoint: Mapping[str, Any]) -> Any:
    """The optimizer steps that a checkpoint's loops have counted; LookupError or TypeError if it has none."""
    progress = checkpoint["loops"]["fit_loop"]["epoch_loop.automatic_optimization.optim_progress"]
    return progress["optimizer"]["step"]["total"]["completed"]


def set_batches(checkpoint: Mapping[str, Any], done: int) -> None:
    """Set the micro-batches that a checkpoint's loops have counted, in place; their number in a step may change."""
    progress = checkpoint["loops"]["fit_loop"]["epoch_loop.batch_progress"]
    for counter in (progress["total"], progress["current"]):
        counter.update(dict.fromkeys(counter, done))
