"""A multirun: Hydra's sweeper chooses the jobs, and its launcher runs them."""

import copy
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

from hydra.core.config_loader import ConfigLoader
from hydra.core.config_search_path import ConfigSearchPath
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from hydra.core.plugins import Plugins
from hydra.core.utils import configure_log
from hydra.plugins.config_source import ConfigSource
from hydra.types import RunMode
from omegaconf import DictConfig

from aiayn.config.hydra_versions import allowed, context_of, initialized
from aiayn.sweep.callbacks import UserCallbacks
from aiayn.sweep.jobs import Jobs

MOST_KEPT = 256
"""Configurations, of a fifth of a megabyte each: a search never asks again."""


def run_multirun(verb: str, overrides: Sequence[str], jobs: Jobs) -> None:
    """Run the jobs of a command; whatever Hydra, a sweeper or a launcher raises passes."""
    with initialized(), ExitStack() as at_the_end:
        loader = GlobalHydra.instance().config_loader()
        words = [*overrides, "hydra.mode=MULTIRUN"]
        composed = loader.load_configuration(verb, words, run_mode=RunMode.MULTIRUN)
        at_the_end.callback(setattr, HydraConfig.instance(), "cfg", HydraConfig.instance().cfg)
        HydraConfig.instance().set_config(composed)
        at_the_end.enter_context(allowed(composed))
        configure_log(composed.hydra.hydra_logging, composed.hydra.verbose)
        callbacks = UserCallbacks(composed)
        jobs.begin_multirun(composed)
        callbacks.on_multirun_start(composed, config_name=verb)
        at_the_end.callback(callbacks.on_multirun_end, composed, config_name=verb)
        context = context_of(composed, callbacks=callbacks, loader=ComposedOnce(loader))
        sweeper = Plugins.instance().instantiate_sweeper(
            config=composed, hydra_context=context, task_function=jobs.task
        )
        sweeper.sweep(arguments=[*composed.hydra.overrides.task])


class ComposedOnce(ConfigLoader):
    """A loader that keeps what a job's words compose to until it is asked again.

    Hydra's sweepers compose each job to see whether they can, and its launchers compose it again: half of the time that
    a multirun takes before its jobs.
    """

    def __init__(self, loader: ConfigLoader) -> None:
        self._loader = loader
        self._kept: dict[tuple[str, ...], DictConfig] = {}

    def load_sweep_config(self, master_config: DictConfig, sweep_overrides: list[str]) -> DictConfig:
        """The configuration of a job; each call returns an object of its own."""
        words = tuple(sweep_overrides)
        if (kept := self._kept.pop(words, None)) is not None:
            return kept
        found = self._loader.load_sweep_config(master_config, sweep_overrides)
        if len(self._kept) < MOST_KEPT:
            self._kept[words] = copy.deepcopy(found)
        return found

    def __getstate__(self) -> dict[str, Any]:
        """Without what is kept: each process that gets the loader has one job."""
        return {"_loader": self._loader, "_kept": {}}

    def load_configuration(self, *args: Any, **kwargs: Any) -> DictConfig:
        """See `ConfigLoader`."""
        return self._loader.load_configuration(*args, **kwargs)

    def get_search_path(self) -> ConfigSearchPath:
        """See `ConfigLoader`."""
        return self._loader.get_search_path()

    def get_sources(self) -> list[ConfigSource]:
        """See `ConfigLoader`."""
        return self._loader.get_sources()

    def list_groups(self, parent_name: str) -> list[str]:
        """See `ConfigLoader`."""
        return self._loader.list_groups(parent_name)

    def get_group_options(self, *args: Any, **kwargs: Any) -> list[str]:
        """See `ConfigLoader`."""
        return self._loader.get_group_options(*args, **kwargs)

    def compute_defaults_list(self, *args: Any, **kwargs: Any) -> Any:
        """See `ConfigLoader`."""
        return self._loader.compute_defaults_list(*args, **kwargs)
