"""Register the schema with Hydra, and compose a command's configuration in this process."""

import os
from collections.abc import Sequence
from functools import cache

from hydra import compose
from hydra.core.config_store import ConfigStore
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from hydra.core.plugins import Plugins
from omegaconf import DictConfig, OmegaConf, open_dict, read_write

from aiayn.config.data_schema import DATA_TYPES
from aiayn.config.difference import SWEEP_VARIABLE
from aiayn.config.hydra_versions import initialized
from aiayn.config.model_kinds import MODEL_TYPES
from aiayn.config.resolvers import register_resolvers
from aiayn.config.schema import GivenTokenizerConfig
from aiayn.config.sources import register_sources
from aiayn.config.store import COMMANDS, launcher_values
from aiayn.config.sweep_schema import LAUNCHERS, SWEEPERS
from aiayn.config.texts import as_written


def register() -> None:
    """Register resolvers and schemas, once, and forget an empty name of a sweep, which is none."""
    if os.environ.get(SWEEP_VARIABLE) == "":
        del os.environ[SWEEP_VARIABLE]
    _register_once()


@cache
def _register_once() -> None:
    register_resolvers()
    store = ConfigStore.instance()
    for command, node in COMMANDS.items():
        store.store(name=f"{command}_schema", node=node)
    for data, node in DATA_TYPES.items():
        store.store(name=f"{data}_data_schema", node=node)
    for model, node in MODEL_TYPES.items():
        store.store(name=f"{model}_model_schema", node=node)
    store.store(name="given_tokenizer_schema", node=GivenTokenizerConfig)
    for name, node in SWEEPERS.items():
        store.store(group="hydra/sweeper", name=name, node=node, provider="aiayn")
    Plugins.instance()  # registers readers of files, and the launchers' own options, which the following replace
    register_sources()
    for name, schema in LAUNCHERS.items():
        path = launcher_values(name)
        launcher = OmegaConf.merge(OmegaConf.structured(schema), OmegaConf.load(path))
        store.store(group="hydra/launcher", name=name, node=launcher, provider=str(path))


def compose_command(command: str, overrides: Sequence[str] = ()) -> DictConfig:
    """The configuration of `aiayn <command> <overrides>`, without Hydra's own node."""
    return without_hydra(compose_with_hydra(command, overrides))


def compose_with_hydra(command: str, overrides: Sequence[str] = ()) -> DictConfig:
    """The same with Hydra's own node."""
    register()
    GlobalHydra.instance().clear()
    with initialized():
        return compose(command, as_written(command, overrides), return_hydra_config=True)


def without_hydra(composed: DictConfig) -> DictConfig:
    """Remove Hydra's own node, to which expressions in the configuration still refer."""
    HydraConfig.instance().set_config(composed)
    with read_write(composed), open_dict(composed):
        del composed["hydra"]
    return composed
