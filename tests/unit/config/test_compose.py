"""Schemas are registered once; a composition does not change what others are made of."""

import copy

from hydra.core.config_store import ConfigStore
from omegaconf import OmegaConf

from aiayn.config.compose import compose_command


def test_a_composition_is_no_part_of_the_next() -> None:
    first = compose_command("train", ["seed=3", "+callbacks.mine={_target_: x}"])
    first.model.d_model = 2
    assert compose_command("train") == compose_command("train", ["seed=1"])
    assert "mine" not in compose_command("train").callbacks


def test_a_copy_of_hydras_sources_shares_the_schemas_which_stay_as_they_are() -> None:
    first = compose_command("train")
    store = ConfigStore.instance()
    before = OmegaConf.to_yaml(store.load("train_schema.yaml").node)
    assert copy.deepcopy(store) is store
    compose_command("train", ["model=recurrent", "data=text_files", "hydra/launcher=slurm"])
    assert OmegaConf.to_yaml(store.load("train_schema.yaml").node) == before
    assert compose_command("train") == first
