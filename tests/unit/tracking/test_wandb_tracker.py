"""What W&B would refuse is refused before a run starts, in one line, or fits W&B; its later errors fail no run."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import wandb
from composed_once import validated

from aiayn.builders.training import describe
from aiayn.errors import UserError
from aiayn.tracking.tracker import RunDescription
from aiayn.tracking.wandb_tracker import check_wandb, open_wandb

LOGGER = {
    "_target_": "pytorch_lightning.loggers.WandbLogger",
    "mode": "offline",
    "init_timeout": 10,
    "finish_timeout": 10,
}


@pytest.fixture(autouse=True)
def fresh_client() -> Iterator[None]:
    """The client reads its environment once per process."""
    wandb.teardown()
    yield
    wandb.teardown()


@pytest.mark.parametrize(
    "argument",
    [
        {"projekt": "mine"},
        {"project": "a/b"},
        {"project": "a" * 129},
        {"settings": {"sillent": True}},
        {"tags": ["a" * 65]},
        {"tags": 3},
        {"_target_": "no.such.WandbLogger"},
    ],
    ids=str,
)
def test_arguments_that_wandb_refuses_are_refused_before_a_run(argument: dict[str, Any]) -> None:
    check_wandb(LOGGER | {"notes": "an argument of wandb.init", "checkpoint_name": "one of WandbLogger's"})
    with pytest.raises(UserError) as refusal:
        check_wandb(LOGGER | argument)
    assert str(refusal.value).startswith("logger")
    assert "\n" not in str(refusal.value)


def test_invalid_variables_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WANDB_MODE", "sometimes")
    with pytest.raises(UserError, match="mode"):
        check_wandb(LOGGER)


def described(*tags: str) -> RunDescription:
    return RunDescription(
        run_id="0123456789abcdef",
        name="a run",
        is_swept=False,
        group="table3",
        job_type="base",
        tags=tags,
        notes="",
        config={},
        checkout=None,
    )


def test_whatever_wandb_refuses_when_it_starts_fails_no_run(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert open_wandb(LOGGER, described("a" * 65), tmp_path) is None
    (line,) = [record.getMessage() for record in caplog.records]
    assert line.startswith("W&B: ")
    assert "65 characters" in line
    assert line.endswith("the run continues without it")


def test_a_long_name_of_a_corpus_is_a_tag_that_wandb_takes() -> None:
    corpora = ["a-corpus-" * 20, "a-corpus-" * 20 + "b"]
    tags = [describe(validated(f"data.name={name}"), run_id="1").tags for name in corpora]
    for each in tags:
        wandb.Settings(run_tags=each)
    assert tags[0] != tags[1], "two corpora have two tags"
