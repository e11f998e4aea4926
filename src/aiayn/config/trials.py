"""Trials: runs that only see whether something runs, or fits a few batches. They are never results."""

from collections.abc import Mapping
from typing import Any

ALL = {
    "fast_dev_run": (False, 0),
    "overfit_batches": (0, 0.0),
    "limit_train_batches": (None, 1.0),
    "limit_val_batches": (None, 1.0),
}
"""Arguments of Lightning's Trainer that shorten a run, and their values that do not."""


def trial_reason(trainer: Mapping[str, Any]) -> str | None:
    """What makes a run a trial, as in "trainer.fast_dev_run=true"; None where it is none.

    Args:
        trainer: the group of the run's configuration.
    """
    for name, unlimited in ALL.items():
        value = trainer.get(name, unlimited[0])
        if not any(value == each and type(value) is type(each) for each in unlimited):
            shown = str(value).lower() if isinstance(value, bool) else value
            return f"trainer.{name}={shown}"
    return None
