"""Arguments and settings that W&B would refuse are refused before a run starts, in one line."""

from collections.abc import Iterator
from typing import Any

import pytest
import wandb

from aiayn.errors import UserError
from aiayn.tracking.wandb_tracker import check_wandb

LOGGER = {"_target_": "pytorch_lightning.loggers.WandbLogger", "mode": "offline"}


@pytest.fixture(autouse=True)
def fresh_client() -> Iterator[None]:
    """The client reads its environment once per process."""
    wandb.teardown()
    yield
    wandb.teardown()


@pytest.mark.parametrize("argument", [{"projekt": "mine"}, {"settings": {"sillent": True}}])
def test_unknown_arguments_are_refused(argument: dict[str, Any]) -> None:
    check_wandb(LOGGER | {"notes": "an argument of wandb.init", "checkpoint_name": "one of WandbLogger's"})
    with pytest.raises(UserError) as refusal:
        check_wandb(LOGGER | argument)
    assert str(refusal.value).startswith("logger")
    assert "\n" not in str(refusal.value)


def test_invalid_variables_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WANDB_MODE", "sometimes")
    with pytest.raises(UserError, match="mode"):
        check_wandb(LOGGER)
