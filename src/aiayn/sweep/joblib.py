"""`hydra/launcher=joblib`: the jobs of a sweep in processes of this machine, as many at once as fit."""

from collections.abc import Sequence
from dataclasses import dataclass

from joblib import Parallel, delayed, effective_n_jobs
from omegaconf import DictConfig

from aiayn.config.schema import TrainConfig
from aiayn.config.sweep_schema import JoblibConfig
from aiayn.sweep.scheduled import Job, Starter, launcher_settings
from aiayn.system.orphans import begin_launcher_process


@dataclass(frozen=True)
class JoblibScheduler:
    """Runs jobs in a pool of processes; each leases its devices or cores itself."""

    settings: JoblibConfig

    def shape_of(self, config: TrainConfig | None) -> None:
        """See `Scheduler`."""

    def run(self, starter: Starter, jobs: Sequence[Job[None]]) -> None:
        """See `Scheduler`; `aiayn.sweep.jobs` has the jobs write checkpoints at an interrupt.

        Raises:
            TerminatedWorkerError: a process of the pool was killed.
        """
        count = self.settings.n_jobs
        run = starter.run if effective_n_jobs(count) == 1 else starter.returned  # joblib runs a single one here
        pool = Parallel(count, backend="loky", batch_size=1, initializer=begin_launcher_process)
        for returned in pool(delayed(run)(job.words, job.index) for job in jobs):
            _ = returned.return_value  # raises what the job raised, after the others have ended


def scheduler_of(composed: DictConfig) -> JoblibScheduler:
    """The scheduler of a sweep's configuration."""
    return JoblibScheduler(launcher_settings(composed, JoblibConfig))
