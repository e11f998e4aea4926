"""Schemas are registered once; a composition does not change what others are made of."""

from copy import deepcopy

from hydra.core.config_store import ConfigStore
from omegaconf import OmegaConf

from aiayn.config.compose import compose_command, register


def test_copies_of_the_store_share_its_nodes_and_loaded_nodes_are_copies() -> None:
    register()
    store = deepcopy(ConfigStore.instance())
    assert store.repo is ConfigStore.instance().repo
    store.load("train_schema.yaml").node.seed = 7
    assert OmegaConf.is_missing(ConfigStore.instance().load("train_schema.yaml").node, "seed")


def test_a_composition_is_no_part_of_the_next() -> None:
    first = compose_command("train", ["seed=3", "+callbacks.mine={_target_: x}"])
    first.model.d_model = 2
    assert compose_command("train") == compose_command("train", ["seed=1"])
    assert "mine" not in compose_command("train").callbacks
