"""The schema of Hydra's own groups: the sweepers, and the launchers of Slurm and Ray.

No field has a default but those that a study may leave out.
"""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from omegaconf import MISSING

from aiayn.config.values import Count, Positive, Seed, WholeNumber, text, text_or_null, true_or_false


class Objective(StrEnum):
    """The development score that a search optimises: the lowest perplexity or the highest BLEU."""

    ppl = "ppl"
    bleu = "bleu"


@dataclass
class SweeperConfig:
    """`hydra.sweeper` of a search; sweeps/search.yaml holds the values."""

    _target_: str = "hydra_plugins.aiayn_sweepers.SearchSweeper"
    params: dict[str, str] = MISSING
    """The keys to search and their values, written as on the command line: intervals, or choices with commas."""
    trials: Count = MISSING
    """Runs in all, those of earlier commands included."""
    objective: Objective = MISSING
    """The score to optimise."""
    seed: Seed = MISSING
    """Seed of the sampler."""
    storage: str = text()
    """Storage of the study, a URL of Optuna."""


class Stage(StrEnum):
    """The stages of a pre-registered study."""

    freeze = "freeze"
    """Freezes the plan and starts no run."""
    runs = "runs"
    """Freezes the plan, unless it is frozen, and starts its runs."""


@dataclass
class RegisteredConfig:
    """`hydra.sweeper` of a pre-registered study; its file in sweeps/ holds the values."""

    _target_: str = "hydra_plugins.aiayn_sweepers.RegisteredSweeper"
    stage: Stage | None = MISSING
    """What to do, stated on the command line: freeze, which only freezes the plan; or runs, which freezes it first;
    null: not stated."""
    base: str = text()
    """The row that others are compared with."""
    rows: dict[str, list[str]] = MISSING
    """The overrides of each row, by its name."""
    seeds: Any = MISSING
    """For each row, or `others`: a number n, for the seeds 1 to n, or a list of seeds."""
    looks: bool = true_or_false()
    """Whether reports before the last run has finished are allowed; otherwise each one is a deviation from the plan."""
    claims: list[Any] = MISSING
    """Claims of the paper, as in {paper: one_head}, or of the study: id, statement, primary, secondary, may_fail,
    requires; an empty list in a study of pilots, whose runs are in no table."""
    floor: dict[str, Any] | None = None
    """log_ppl that no model can be expected to go below on this corpus, and why; caps assumed differences."""
    steps: list[Count] = field(default_factory=list)
    """Further budgets, after which claims are shown beside those of all steps and never chosen from."""
    processors: list[str] = field(default_factory=list)
    """Makes of processor on which runs are no deviation."""
    power_from: str | None = text_or_null(None)
    """The study whose runs tell the power: one with a frozen plan in paths.runs, as of pilots, or the folder of a
    published one; null: power is unknown."""


@dataclass
class JoblibConfig:
    """`hydra.launcher` of hydra/launcher=joblib; conf/hydra/joblib_launcher.yaml holds the values."""

    _target_: str = "hydra_plugins.aiayn_launchers.JoblibJobsLauncher"
    n_jobs: Count = MISSING
    """Jobs at once; ${jobs_at_once:}: as many as the machine has GPUs or cores for."""


@dataclass
class SlurmConfig:
    """`hydra.launcher` of hydra/launcher=slurm; conf/hydra/slurm_launcher.yaml holds the values."""

    _target_: str = "hydra_plugins.aiayn_launchers.SlurmJobsLauncher"
    name: str = text()
    """Name of the jobs in `squeue`."""
    partition: str | None = text_or_null()
    """Partition of the jobs."""
    account: str | None = text_or_null()
    """Account that is charged."""
    qos: str | None = text_or_null()
    """Quality of service."""
    constraint: str | None = text_or_null()
    """Features that a node must have."""
    gres: str | None = text_or_null()
    """Other resources of each node, as in gpu:h100:8."""
    gpus_per_node: WholeNumber | None = MISSING
    """GPUs of each node; null: trainer.devices where trainer.accelerator is gpu, else none."""
    cpus_per_task: Count | None = MISSING
    """Cores of each process."""
    mem_gb: Positive | None = MISSING
    """Memory of each node."""
    timeout_min: Count | None = MISSING
    """Minutes of one attempt, checkpoint included."""
    signal_delay_s: WholeNumber = MISSING
    """Seconds between Slurm's warning and the time limit; must suffice for a step, a validation and a checkpoint."""
    requeue: bool = true_or_false()
    """Whether a job that was preempted or ran out of time is put back into the queue."""
    array_parallelism: Count = MISSING
    """Most concurrent jobs of one shape."""
    setup: list[str] = MISSING
    """Lines of shell before the run, as in 'module load cuda'."""
    additional_parameters: dict[str, Any] = MISSING
    """Further options of sbatch, without dashes."""
    submitit_folder: str = text()
    """Folder of a job's log; %j is its id."""
    poll_seconds: Positive = MISSING
    """Seconds between two queries of the queue."""


@dataclass
class RayConfig:
    """`hydra.launcher` of hydra/launcher=ray; conf/hydra/ray_launcher.yaml holds the values."""

    _target_: str = "hydra_plugins.aiayn_launchers.RayJobsLauncher"
    address: str | None = text_or_null()
    """Address of the cluster; null: that in RAY_ADDRESS, else the cluster on this host."""
    cpus_per_task: Count = MISSING
    """Cores of each process."""
    attempts: Count = MISSING
    """Most attempts of a job after a process or a node is lost; each resumes from the last checkpoint."""
    poll_seconds: Positive = MISSING
    """Seconds between two queries of the jobs."""


LAUNCHERS: dict[str, type] = {"joblib": JoblibConfig, "slurm": SlurmConfig, "ray": RayConfig}
"""The options of hydra/launcher beside Hydra's own, basic; conf/hydra/<option>_launcher.yaml holds the values."""
