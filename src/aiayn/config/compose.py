"""Compose a command's configuration in this process, as the command line does it."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from hydra import compose, initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig, open_dict, read_write

from aiayn.config import store


@contextmanager
def beside_the_command() -> Iterator[None]:
    """Compose within the block, in the middle of a command, without that one's losing what it was composed from."""
    hydra, config = GlobalHydra.instance().hydra, HydraConfig.instance().cfg
    try:
        yield
    finally:
        GlobalHydra.instance().hydra = hydra
        HydraConfig.instance().cfg = config


def compose_command(command: str, overrides: Sequence[str] = ()) -> DictConfig:
    """The configuration that `aiayn <command> <overrides>` would run with, Hydra's own node removed.

    Args:
        command: a key of `store.COMMANDS`.
        overrides: as typed on the command line.
    """
    return without_hydra(compose_with_hydra(command, overrides))


def compose_with_hydra(command: str, overrides: Sequence[str] = ()) -> DictConfig:
    """The same with Hydra's own node."""
    store.register()
    GlobalHydra.instance().clear()
    with initialize_config_dir(str(store.conf_directory()), version_base="1.3"):
        return compose(command, list(overrides), return_hydra_config=True)


def without_hydra(composed: DictConfig) -> DictConfig:
    """Remove Hydra's own node, to which expressions in the configuration still refer."""
    HydraConfig.instance().set_config(composed)
    with read_write(composed), open_dict(composed):
        del composed["hydra"]
    return composed
