"""Hydra's store is filled once, and composing does not change its content."""

from hydra.core.config_store import ConfigStore
from omegaconf import OmegaConf

from aiayn.config.compose import compose_command
from aiayn.config.store import register


def test_the_store_hands_out_copies() -> None:
    register()
    store = ConfigStore.instance()
    before = store.load("train_schema.yaml").node
    store.load("train_schema.yaml").node.seed = 7
    assert OmegaConf.is_missing(before, "seed")
    assert OmegaConf.is_missing(store.load("train_schema.yaml").node, "seed")


def test_a_composition_is_no_part_of_the_next() -> None:
    first = compose_command("train", ["seed=3", "+callbacks.mine={_target_: x}"])
    first.model.d_model = 2
    assert compose_command("train") == compose_command("train", ["seed=1"])
    assert "mine" not in compose_command("train").callbacks
