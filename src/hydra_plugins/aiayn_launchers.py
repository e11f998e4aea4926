"""The launcher of `hydra/launcher=slurm`; Hydra finds launchers in this namespace only.

Hydra imports this file with every command; submitit is imported when jobs are launched.
"""

from collections.abc import Sequence
from typing import Any

from hydra.core.utils import JobReturn
from hydra.plugins.launcher import Launcher
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig

from aiayn.errors import UserError


class SlurmJobsLauncher(Launcher):
    """Makes each job of a sweep a job of Slurm, and waits for all."""

    composed: DictConfig
    context: HydraContext
    task: TaskFunction

    def __init__(self, **_: Any) -> None:
        """Take no settings: they are read from the configuration, as `SlurmConfig` in the schema."""

    def setup(self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig) -> None:
        """Take the parts that Hydra hands to a launcher."""
        self.composed = config
        self.context = hydra_context
        self.task = task_function

    def launch(self, job_overrides: Sequence[Sequence[str]], initial_job_idx: int) -> Sequence[JobReturn]:
        """Run the jobs; each writes its outcome.

        Raises:
            UserError: Slurm or submitit is not installed, or Slurm does not take the jobs.
        """
        try:
            from aiayn.sweep.jobs import Task
            from aiayn.sweep.slurm import launch
        except ModuleNotFoundError as error:
            if str(error.name).partition(".")[0] != "submitit":
                raise
            raise UserError(
                "hydra/launcher=slurm: submitit is not installed; pip install -e '.[slurm]' in the checkout"
            ) from None
        assert isinstance(self.task, Task)
        launch(self.composed, self.context, self.task, job_overrides, first=initial_job_idx)
        return ()
