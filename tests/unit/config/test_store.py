"""Hydra's store is filled once; nobody who composes can change what it holds."""

from copy import deepcopy

from hydra.core.config_store import ConfigStore
from omegaconf import OmegaConf

from aiayn.config.compose import compose_command
from aiayn.config.store import register


def test_there_is_one_store_and_what_it_hands_out_is_not_its_own() -> None:
    register()
    store = ConfigStore.instance()
    assert deepcopy([store])[0] is store
    before = store.load("train_schema.yaml").node
    store.load("train_schema.yaml").node.seed = 7
    assert OmegaConf.is_missing(before, "seed")
    assert OmegaConf.is_missing(store.load("train_schema.yaml").node, "seed")


def test_a_composition_is_no_part_of_the_next() -> None:
    first = compose_command("train", ["seed=3", "+callbacks.mine={_target_: x}"])
    first.model.d_model = 2
    assert compose_command("train") == compose_command("train", ["seed=1"])
    assert "mine" not in compose_command("train").callbacks
