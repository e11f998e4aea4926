"""Whatever has the trainer do a part makes a run a trial; what it does anyway does not."""

import pytest

from aiayn.config.compose import compose_command
from aiayn.config.freeze import to_dataclass
from aiayn.config.schema import TrainConfig
from aiayn.config.trials import trial_reason


def reason(*words: str) -> str | None:
    return trial_reason(to_dataclass(compose_command("train", list(words)), TrainConfig).trainer)


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("debug=one_step", "trainer.fast_dev_run=true"),
        ("debug=overfit", "trainer.overfit_batches=10"),
        ("trainer.fast_dev_run=2", "trainer.fast_dev_run=2"),
        ("trainer.limit_train_batches=1", "trainer.limit_train_batches=1"),
        ("trainer.limit_val_batches=0.5", "trainer.limit_val_batches=0.5"),
        ("debug=none", None),
        ("trainer.limit_train_batches=1.0", None),
        ("trainer.overfit_batches=0", None),
        ("trainer.fast_dev_run=0", None),
        ("optimization.max_steps=1", None),
    ],
)
def test_a_trial_is_what_does_only_a_part(word: str, expected: str | None) -> None:
    assert reason(word) == expected
