"""The recipe agrees with the tables."""

from decimal import Decimal

import pytest

from aiayn.paper.recipe import load_recipe
from aiayn.paper.tables import load_table3

RECIPE = load_recipe()


@pytest.mark.parametrize("model", RECIPE.training)
def test_steps_times_seconds_are_the_stated_hours_to_their_precision(model: str) -> None:
    """0.4 s stands for anything from 0.35 to 0.45 s: the stated hours lie within."""
    training = RECIPE.training[model]
    seconds, half = Decimal(str(training.seconds_per_step)), Decimal("0.05")
    shortest, longest = ((seconds + bound) * training.steps / 3600 for bound in (-half, half))
    assert shortest <= Decimal(str(training.hours)) <= longest
    table = load_table3()
    assert training.steps == table.row(model).settings(table)["optimization.max_steps"]


def test_settings_of_table_3_are_the_same_there_and_none_is_stated_twice() -> None:
    base = load_table3().base
    shared = {item.key: item.value for item in RECIPE.settings if item.key in base}
    assert shared == {key: base[key] for key in shared}
    assert len(shared) == 3
    keys = [item.key for item in RECIPE.settings]
    assert len(set(keys)) == len(keys)
    assert not {key for corpus in RECIPE.corpora.values() for key in corpus.settings} & set(keys)


def test_the_averaged_checkpoints_of_base_are_its_last_steps() -> None:
    base = RECIPE.training["base"]
    assert base.checkpoint_minutes is not None
    steps_between = base.checkpoint_minutes * 60 / base.seconds_per_step
    assert base.averaged_checkpoints * steps_between < base.steps / 10
