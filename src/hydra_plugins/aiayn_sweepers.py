"""The sweepers of the extensions; Hydra finds sweepers in this namespace only.

Hydra imports this file with every command; the code of a sweep is imported when it begins.
"""

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from hydra.core.plugins import Plugins
from hydra.plugins.sweeper import Sweeper
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig

from aiayn.registry import added_sweepers, named
from aiayn.system.extras import require

if TYPE_CHECKING:
    from hydra.plugins.launcher import Launcher


class ConfiguredSweeper(Sweeper):
    """A sweeper whose settings are read from the configuration; Hydra skips this class, since `sweep` is abstract."""

    composed: DictConfig
    context: HydraContext
    launcher: "Launcher"

    def __init__(self, **_: Any) -> None:
        """Take no settings: they are the dataclasses of `aiayn.config.sweep_schema.SWEEPERS`."""

    def setup(self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig) -> None:
        """Take the parts that Hydra hands to a sweeper."""
        self.composed = config
        self.context = hydra_context
        self.launcher = Plugins.instance().instantiate_launcher(
            hydra_context=hydra_context, task_function=task_function, config=config
        )


class AddedSweeper(ConfiguredSweeper):
    """The sweeper of an extension; Hydra skips this class, since it has an abstract method."""

    @property
    @abstractmethod
    def name(self) -> str:
        """The option of hydra/sweeper."""

    def sweep(self, arguments: list[str]) -> Sequence[object]:
        """Run the jobs that the extension chooses.

        Args:
            arguments: the overrides of the command line.

        Raises:
            UserError: a package is not installed, or a setting is not allowed.
        """
        sweeper = added_sweepers()[self.name]
        if sweeper.package:
            require(sweeper.package, extra=self.name, setting=f"sweeps={sweeper.sweep}")
        named(sweeper.run)(self.composed, arguments, loader=self.context.config_loader, launcher=self.launcher)
        return ()


for _name, _sweeper in added_sweepers().items():  # Hydra finds classes by their names in this file
    globals()[_sweeper.plugin] = type(_sweeper.plugin, (AddedSweeper,), {"__module__": __name__, "name": _name})
