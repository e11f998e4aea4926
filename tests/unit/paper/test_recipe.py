"""The recipe agrees with the tables that it leads to."""

from decimal import Decimal

import pytest

from aiayn.paper.catalogue import cell
from aiayn.paper.recipe import load_recipe
from aiayn.paper.table3 import load_table3

RECIPE = load_recipe()


@pytest.mark.parametrize("model", RECIPE.training)
def test_training_costs_what_table_2_prints(model: str) -> None:
    printed = cell(f"table2.transformer_{model}.flops_en_de")
    cost = RECIPE.hardware.training_flops(RECIPE.training[model].hours)
    assert f"{cost:.{printed.decimals}e}".replace("e+", "e") == str(printed)


@pytest.mark.parametrize("model", RECIPE.training)
def test_steps_times_seconds_are_the_stated_hours_to_their_precision(model: str) -> None:
    """0.4 s stands for anything from 0.35 to 0.45 s: the stated hours lie within."""
    training = RECIPE.training[model]
    seconds = Decimal(str(training.seconds_per_step))
    half = Decimal("0.05")
    shortest, longest = ((seconds + bound) * training.steps / 3600 for bound in (-half, half))
    assert shortest <= Decimal(str(training.hours)) <= longest


@pytest.mark.parametrize("model", RECIPE.training)
def test_steps_are_those_of_table_3(model: str) -> None:
    table = load_table3()
    assert RECIPE.training[model].steps == table.row(model).settings(table)["optimization.max_steps"]


def test_what_table_3_prints_too_is_the_same_there() -> None:
    base = load_table3().base
    shared = {item.key: item.value for item in RECIPE.settings if item.key in base}
    assert shared == {key: base[key] for key in shared}
    assert len(shared) == 3


def test_an_item_is_stated_once() -> None:
    keys = [item.key for item in RECIPE.settings]
    assert len(set(keys)) == len(keys)
    assert not {key for corpus in RECIPE.corpora.values() for key in corpus.settings} & set(keys)


def test_the_averaged_checkpoints_of_base_are_its_last_steps() -> None:
    base = RECIPE.training["base"]
    assert base.checkpoint_minutes is not None
    steps_between = base.checkpoint_minutes * 60 / base.seconds_per_step
    assert base.averaged_checkpoints * steps_between < base.steps / 10
