"""The sweeper of `sweeps/search.yaml`: Hydra makes sweepers of this namespace and no other.

Hydra imports this file with every command; what does the work is imported when a search begins.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from hydra.core.plugins import Plugins
from hydra.plugins.sweeper import Sweeper
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig

from aiayn.config.schema import Objective
from aiayn.errors import UserError

if TYPE_CHECKING:
    from hydra.plugins.launcher import Launcher


class SearchSweeper(Sweeper):
    """Lets Optuna choose the values of the jobs, one job after the other."""

    def __init__(
        self, *, params: Mapping[str, str], trials: int, objective: Objective, seed: int, storage: str
    ) -> None:
        """Take the settings; `SweeperConfig` in the schema says what they are."""
        self._params = dict(params)
        self._trials = trials
        self._objective = objective
        self._seed = seed
        self._storage = storage
        self._composed: DictConfig | None = None
        self._context: HydraContext | None = None
        self._launcher: Launcher | None = None

    def setup(self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig) -> None:
        """Hydra's second half of making a sweeper."""
        self._composed = config
        self._context = hydra_context
        self._launcher = Plugins.instance().instantiate_launcher(
            hydra_context=hydra_context, task_function=task_function, config=config
        )

    def sweep(self, arguments: list[str]) -> Sequence[object]:
        """Search until there are as many trials as asked for.

        Args:
            arguments: the overrides of the command line.

        Raises:
            UserError: Optuna is not installed, or a setting is not allowed.
        """
        assert self._composed is not None
        assert self._context is not None
        assert self._launcher is not None
        try:
            from aiayn.sweep.search import search
        except ModuleNotFoundError as error:
            if error.name != "optuna":
                raise
            raise UserError(
                "sweeps=search: Optuna is not installed; pip install -e '.[search]' in the checkout"
            ) from None
        words = [*(f"{key}={value}" for key, value in self._params.items()), *arguments]
        search(
            self._composed,
            words,
            loader=self._context.config_loader,
            launcher=self._launcher,
            objective=self._objective,
            trials=self._trials,
            seed=self._seed,
            storage=self._storage,
        )
        return ()
