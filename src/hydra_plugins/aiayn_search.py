"""The sweeper of `sweeps/search.yaml`; Hydra finds sweepers in this namespace only.

Hydra imports this file with every command; Optuna is imported when a search begins.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from hydra.core.plugins import Plugins
from hydra.plugins.sweeper import Sweeper
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig

from aiayn.errors import UserError

if TYPE_CHECKING:
    from hydra.plugins.launcher import Launcher


class SearchSweeper(Sweeper):
    """Lets Optuna choose the values of the jobs, one job after the other."""

    composed: DictConfig
    context: HydraContext
    launcher: "Launcher"

    def __init__(self, **_: Any) -> None:
        """Take no settings: they are read from the configuration, as `SweeperConfig` in the schema."""

    def setup(self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig) -> None:
        """Take the parts that Hydra hands to a sweeper."""
        self.composed = config
        self.context = hydra_context
        self.launcher = Plugins.instance().instantiate_launcher(
            hydra_context=hydra_context, task_function=task_function, config=config
        )

    def sweep(self, arguments: list[str]) -> Sequence[object]:
        """Search until there are as many trials as asked for.

        Args:
            arguments: the overrides of the command line.

        Raises:
            UserError: Optuna is not installed, or a setting is not allowed.
        """
        try:
            from aiayn.sweep.search import search
        except ModuleNotFoundError as error:
            if error.name != "optuna":
                raise
            raise UserError(
                "sweeps=search: Optuna is not installed; pip install -e '.[search]' in the checkout"
            ) from None
        search(self.composed, arguments, loader=self.context.config_loader, launcher=self.launcher)
        return ()
