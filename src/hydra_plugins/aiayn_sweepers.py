"""The sweepers of searches and of pre-registered studies; Hydra finds sweepers in this namespace only.

Hydra imports this file with every command; the code of a sweep is imported when it begins.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from hydra.core.plugins import Plugins
from hydra.plugins.sweeper import Sweeper
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig

from aiayn.system.extras import require

if TYPE_CHECKING:
    from hydra.plugins.launcher import Launcher


class ConfiguredSweeper(Sweeper):
    """A sweeper whose settings are read from the configuration; Hydra skips this class, since `sweep` is abstract."""

    composed: DictConfig
    context: HydraContext
    launcher: "Launcher"

    def __init__(self, **_: Any) -> None:
        """Take no settings: they are `SweeperConfig` and `RegisteredConfig` in the schema."""

    def setup(self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig) -> None:
        """Take the parts that Hydra hands to a sweeper."""
        self.composed = config
        self.context = hydra_context
        self.launcher = Plugins.instance().instantiate_launcher(
            hydra_context=hydra_context, task_function=task_function, config=config
        )


class SearchSweeper(ConfiguredSweeper):
    """Lets Optuna choose the values of the jobs, one job after the other."""

    def sweep(self, arguments: list[str]) -> Sequence[object]:
        """Search until there are as many trials as asked for.

        Args:
            arguments: the overrides of the command line.

        Raises:
            UserError: optuna is not installed, or a setting is not allowed.
        """
        require("optuna", extra="search", setting="sweeps=search")
        from aiayn.sweep.search import search

        search(self.composed, arguments, loader=self.context.config_loader, launcher=self.launcher)
        return ()


class RegisteredSweeper(ConfiguredSweeper):
    """Freezes the plan of a study, and runs all rows with all seeds."""

    def sweep(self, arguments: list[str]) -> Sequence[object]:
        """Run a stage of the study, or for other commands than train a job of each row.

        Args:
            arguments: the overrides of the command line.

        Raises:
            UserError: the study cannot be run as it is stated.
        """
        from aiayn.sweep.registration import run_study

        run_study(self.composed, arguments, loader=self.context.config_loader, launcher=self.launcher)
        return ()
