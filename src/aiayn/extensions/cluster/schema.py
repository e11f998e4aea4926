"""The settings of the launchers of Slurm and Ray."""

from dataclasses import dataclass
from typing import Any

from omegaconf import MISSING

from aiayn.config.values import Count, Positive, WholeNumber, text, text_or_null, true_or_false


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
