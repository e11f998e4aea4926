"""The launchers of `hydra/launcher=joblib`, and of the extensions; Hydra finds launchers in this namespace only.

Hydra imports this file with every command; what runs the jobs is imported when they are launched.
"""

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from hydra.core.singleton import Singleton
from hydra.core.utils import JobReturn
from hydra.plugins.launcher import Launcher
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig

from aiayn.registry import added_launchers, named
from aiayn.system.extras import require

if TYPE_CHECKING:
    from aiayn.sweep.scheduled import Scheduler


class ScheduledLauncher(Launcher):
    """Has a scheduler run the jobs of a sweep; Hydra skips this class, since it has an abstract method."""

    composed: DictConfig
    context: HydraContext
    task: TaskFunction

    def __init__(self, **_: Any) -> None:
        """Take no settings: they are read from the configuration, as `SlurmConfig` is in the schema."""

    def setup(self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig) -> None:
        """Take the parts that Hydra hands to a launcher."""
        self.composed = config
        self.context = hydra_context
        self.task = task_function

    def launch(self, job_overrides: Sequence[Sequence[str]], initial_job_idx: int) -> Sequence[JobReturn]:
        """Run the jobs; each writes its outcome.

        Raises:
            UserError: a package or the scheduler is missing, or it does not take the jobs.
        """
        scheduler = self.scheduler()
        from aiayn.sweep.jobs import Task
        from aiayn.sweep.scheduled import Starter, launch

        assert isinstance(self.task, Task)
        starter = Starter(self.composed, self.context, self.task, Singleton.get_state())
        launch(starter, scheduler, job_overrides, first=initial_job_idx)
        return ()

    @abstractmethod
    def scheduler(self) -> "Scheduler[Any]":
        """That of the configuration."""


class JoblibJobsLauncher(ScheduledLauncher):
    """Runs the jobs of a sweep in processes of this machine."""

    def scheduler(self) -> "Scheduler[Any]":
        """Processes here, with the settings of the sweep."""
        from aiayn.sweep.joblib import scheduler_of

        return scheduler_of(self.composed)


class AddedLauncher(ScheduledLauncher):
    """The launcher of an extension; Hydra skips this class, since it has an abstract method."""

    @property
    @abstractmethod
    def name(self) -> str:
        """The option of hydra/launcher."""

    def scheduler(self) -> "Scheduler[Any]":
        """That of the extension, with the settings of the sweep."""
        launcher = added_launchers()[self.name]
        require(launcher.package, extra=self.name, setting=f"hydra/launcher={self.name}")
        scheduler: Scheduler[Any] = named(launcher.scheduler)(self.composed)
        return scheduler


for _name, _launcher in added_launchers().items():  # Hydra finds classes by their names in this file
    globals()[_launcher.plugin] = type(_launcher.plugin, (AddedLauncher,), {"__module__": __name__, "name": _name})
