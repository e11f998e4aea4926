"""The launcher of `hydra/launcher=slurm`: Hydra makes launchers of this namespace and no other.

Hydra imports this file with every command; what does the work is imported when jobs are launched.
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

    def __init__(self, **_: Any) -> None:
        """Take no settings: they are read from the configuration, as `SlurmConfig` in the schema."""
        self._composed: DictConfig | None = None
        self._context: HydraContext | None = None
        self._task: TaskFunction | None = None

    def setup(self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig) -> None:
        """Hydra's second half of making a launcher."""
        self._composed = config
        self._context = hydra_context
        self._task = task_function

    def launch(self, job_overrides: Sequence[Sequence[str]], initial_job_idx: int) -> Sequence[JobReturn]:
        """Do the jobs; what becomes of each is told in its outcome.

        Raises:
            UserError: Slurm or submitit is not installed, or Slurm does not take the jobs.
        """
        assert self._composed is not None
        assert self._context is not None
        try:
            from aiayn.sweep.jobs import Task
            from aiayn.sweep.slurm import launch
        except ModuleNotFoundError as error:
            if str(error.name).partition(".")[0] != "submitit":
                raise
            raise UserError(
                "hydra/launcher=slurm: submitit is not installed; pip install -e '.[slurm]' in the checkout"
            ) from None
        assert isinstance(self._task, Task)
        launch(self._composed, self._context, self._task, [[*words] for words in job_overrides], first=initial_job_idx)
        return ()
