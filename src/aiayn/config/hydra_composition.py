"""Composing a command, and the jobs of a multirun, once instead of twice."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from typing import TYPE_CHECKING, Any

from hydra._internal.hydra import Hydra
from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig, open_dict, read_write

from aiayn.config import store

if TYPE_CHECKING:
    from hydra.core.config_loader import ConfigLoader


MULTIRUN_FLAGS = {"-m", "--multirun"}


@contextmanager
def mode_known_by(words: Sequence[str]) -> Iterator[None]:
    """Spare Hydra, within the block, a composition that it makes to read nothing but `hydra.mode`.

    Files of sweeps/ state one, others in conf/ do not. Whoever names such a file, writes to Hydra's own keys or brings
    files of their own, with some flag, has it composed. For the others it would take a tenth of a second.

    Args:
        words: of the command line.
    """
    if any(_may_state_a_mode(word) for word in words):
        yield
        return
    composed = Hydra.get_mode
    Hydra.get_mode = lambda *_, **__: None  # type: ignore[method-assign]
    try:
        yield
    finally:
        Hydra.get_mode = composed  # type: ignore[method-assign]


@contextmanager
def checked_when_composed(check: Callable[[DictConfig], None]) -> Iterator[None]:
    """Have every configuration that Hydra composes within the block judged before Hydra makes folders or prints it.

    Hydra's callbacks cannot do this: what they raise becomes a warning, and there is none before `--cfg` prints.

    Args:
        check: raises where the configuration, Hydra's own node included, is refused.
    """
    compose = Hydra.compose_config

    def compose_and_check(hydra: Hydra, *arguments: Any, **settings: Any) -> DictConfig:
        composed = compose(hydra, *arguments, **settings)
        if settings.get("from_shell", True):  # else a command composes another beside itself
            check(composed)
        return composed

    Hydra.compose_config = compose_and_check  # type: ignore[assignment, method-assign]
    try:
        yield
    finally:
        Hydra.compose_config = compose  # type: ignore[method-assign]


def without_hydra(composed: DictConfig) -> DictConfig:
    """A copy of what a command is called with; expressions in it refer to Hydra's node of the original."""
    HydraConfig.instance().set_config(composed)
    content = deepcopy(composed)
    with read_write(content), open_dict(content):
        del content["hydra"]
    return content


def _may_state_a_mode(word: str) -> bool:
    return word.lstrip("+~").startswith(("-", "hydra", store.SWEEPS)) and word not in MULTIRUN_FLAGS


def keep_what_is_checked(loader: "ConfigLoader") -> None:
    """Let the launcher have what the sweeper composed.

    Hydra's sweeper composes every job before the first begins, to see that it can be, and throws it away; the launcher,
    which may work elsewhere, composes it again. Here both are in one process, and composing is nearly all the time of
    `aiayn plan`: 20 rows were seen to take 0.6 as long.
    """
    compose = loader.load_sweep_config
    kept: dict[tuple[str, ...], DictConfig] = {}

    def compose_or_take(master_config: DictConfig, sweep_overrides: list[str]) -> DictConfig:
        key = tuple(sweep_overrides)
        if key in kept:
            return deepcopy(kept[key])  # its own: jobs change theirs, and the same may be asked for twice
        composed = kept[key] = compose(master_config, sweep_overrides)
        return composed

    vars(loader)["load_sweep_config"] = compose_or_take


def keep_nothing(loader: "ConfigLoader") -> None:
    """Compose each job anew from now on; also where nothing was kept."""
    vars(loader).pop("load_sweep_config", None)
