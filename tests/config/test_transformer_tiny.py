"""The published recipe that is reproduced from outside the paper is the authors' own."""

import pytest

from aiayn.config.compose import compose_command
from aiayn.training.schedule import learning_rate

FAIRSEQ = {"warmup_updates": 2000, "lr": 0.005, "max_update": 8000, "patience": 10, "averaged_epochs": 10}
"""Of the authors' command; an epoch has 62 updates."""


def test_the_rate_is_that_of_the_authors_schedule() -> None:
    """fairseq's inverse_sqrt rises to lr in warmup_updates and falls with the inverse square root."""
    config = compose_command("train", ["experiment=multi30k/transformer_tiny"])
    recipe = config.optimization
    for step in (1, 500, 2000, 4000, 8000):
        expected = FAIRSEQ["lr"] * min(step / FAIRSEQ["warmup_updates"], (FAIRSEQ["warmup_updates"] / step) ** 0.5)
        rate = learning_rate(
            step,
            d_model=config.model.d_model,
            warmup_steps=recipe.warmup_steps,
            factor=recipe.learning_rate_factor,
        )
        assert rate == pytest.approx(expected, rel=1e-6)


def test_training_ends_and_averages_as_the_authors_does() -> None:
    config = compose_command("train", ["experiment=multi30k/transformer_tiny"])
    recipe = config.optimization
    assert (recipe.max_steps, recipe.patience) == (FAIRSEQ["max_update"], FAIRSEQ["patience"])
    assert config.averaging.checkpoints == FAIRSEQ["averaged_epochs"]
    assert recipe.validation_interval == config.averaging.interval == 62


@pytest.mark.parametrize("scale", ["demo", "nano", "paper"])
def test_the_scale_changes_nothing(scale: str) -> None:
    plain, scaled = (
        compose_command("train", ["experiment=multi30k/transformer_tiny", *words]) for words in ([], [f"scale={scale}"])
    )
    assert scaled.model == plain.model
    assert scaled.optimization == plain.optimization
