"""`aiayn train`."""

import sys
from contextlib import nullcontext
from pathlib import Path

from hydra.conf import HydraConf
from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode

from aiayn.config.absolute import make_absolute
from aiayn.config.schema import TrainConfig
from aiayn.config.validation import validate
from aiayn.launch.slurm import job_id, requeued_if_stopped
from aiayn.runs.directory import RunDirectory
from aiayn.sweep.launchers import jobs_of
from aiayn.sweep.outcomes import PREFIX
from aiayn.sweep.words import job_command, plan_seeds
from aiayn.system import machine, processes
from aiayn.system.output_format import Format, output_format
from aiayn.system.progress import Shown, shown
from aiayn.system.scratch import remove_abandoned


def check(config: TrainConfig) -> None:
    """Refuse settings that are out of range or contradict each other."""
    validate(config)


def main(config: TrainConfig) -> None:
    """Train, evaluate and record the run that the configuration describes; print its row beside the paper's."""
    hydra = HydraConfig.get()
    is_swept = hydra.mode is RunMode.MULTIRUN
    if is_swept:
        plan_seeds(hydra)
    else:
        remove_abandoned(Path(config.paths.runs).expanduser(), prefix=PREFIX)
    directory = RunDirectory(Path(config.paths.runs).expanduser() / config.identity.name)
    make_absolute(config)
    from aiayn.launch.dispatch import launch_run
    from aiayn.launch.shares import share_of
    from aiayn.reports.row import print_row

    command = job_command("train", hydra)
    jobs = jobs_of(hydra)
    is_parallel = is_swept and jobs.are_here and jobs.are_side_by_side  # Slurm and Ray allocate devices themselves
    share = share_of(config, jobs_at_once=_jobs_at_once(hydra)) if is_parallel else None
    is_fresh = is_swept and not (jobs.outlive_the_command or processes.is_rank())  # Slurm starts a process for each
    is_whole_job = job_id() is not None and (jobs.outlive_the_command or not is_swept)
    with requeued_if_stopped(directory, anew=config.force) if is_whole_job else nullcontext():
        record = launch_run(config, command=command, fresh_process=is_fresh, share=share)
    if is_swept and output_format() is Format.json:
        return  # the sweep prints one document
    if processes.rank() == 0 and not (shown() is Shown.lines and sys.stdout.isatty()):  # where its line would be
        print_row(record, directory.path)


def _jobs_at_once(hydra: HydraConf) -> int:
    stated = hydra.launcher.get("n_jobs")
    return stated if isinstance(stated, int) and stated > 0 else len(machine.cores())
