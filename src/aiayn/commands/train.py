"""`aiayn train`."""

import shlex
import sys
from contextlib import nullcontext
from pathlib import Path

from hydra.conf import HydraConf
from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from omegaconf import DictConfig

from aiayn.config.computed import refuse_stated_identity
from aiayn.config.data_schema import HubDataConfig, TextFilesDataConfig, TreesDataConfig
from aiayn.config.freeze import typed
from aiayn.config.schema import TrainConfig
from aiayn.config.validation import validate
from aiayn.errors import UserError
from aiayn.launch.slurm import job_id, requeued_if_stopped
from aiayn.runs.directory import RunDirectory
from aiayn.sweep.launchers import BASIC, SLURM, launcher_of, remove_empty
from aiayn.sweep.outcomes import PREFIX
from aiayn.system import machine, processes
from aiayn.system.progress import Shown, shown
from aiayn.system.scratch import remove_abandoned

ALONE = (BASIC, SLURM)
"""Launchers under which a job has what it finds: Hydra's own does one after another, and Slurm allocates."""


def checked(composed: DictConfig) -> TrainConfig:
    """The configuration of a run, as far as it can be judged without files.

    Raises:
        UserError: a run would be refused.
    """
    refuse_stated_identity(composed, "train")
    config = typed(composed, TrainConfig)
    validate(config)
    return config


def main(composed: DictConfig) -> None:
    """Do the run that the configuration describes, and print its row beside the paper's."""
    try:
        _train(composed)
    except (UserError, KeyboardInterrupt):
        remove_empty(Path(HydraConfig.get().runtime.output_dir))
        raise


def _train(composed: DictConfig) -> None:
    hydra = HydraConfig.get()
    config = checked(composed)
    is_swept = hydra.mode is RunMode.MULTIRUN
    if not is_swept:
        remove_abandoned(Path(config.paths.runs).expanduser(), prefix=PREFIX)
    directory = RunDirectory(Path(config.paths.runs) / config.identity.name)
    _make_absolute(config)
    from aiayn.launch.dispatch import launch_run
    from aiayn.launch.shares import share_of
    from aiayn.reports.row import print_row

    command = shlex.join(["aiayn", "train", *hydra.overrides.task])
    share = share_of(config, jobs_at_once=_jobs_at_once(hydra)) if is_swept and _are_side_by_side(hydra) else None
    is_slurms = launcher_of(hydra) == SLURM
    is_whole_job = job_id() is not None and (is_slurms or not is_swept)
    with requeued_if_stopped(directory, anew=config.force) if is_whole_job else nullcontext():
        record = launch_run(config, command=command, fresh_process=is_swept and not is_slurms, share=share)
    if processes.rank() == 0 and not (shown() is Shown.lines and sys.stdout.isatty()):  # where its line would be
        print_row(record, directory.path)


def _are_side_by_side(hydra: HydraConf) -> bool:
    """Whether the launcher may do several jobs at once on one machine, and nobody else deals out its devices."""
    return launcher_of(hydra) not in ALONE


def _jobs_at_once(hydra: HydraConf) -> int:
    stated = hydra.launcher.get("n_jobs")
    return stated if isinstance(stated, int) and stated > 0 else len(machine.cores())


def _make_absolute(config: TrainConfig) -> None:
    """Bind the paths to the folder that the command was started in: workers and later commands may stand elsewhere."""
    config.paths.runs = str(Path(config.paths.runs).expanduser().absolute())
    config.paths.cache = str(Path(config.paths.cache).expanduser().absolute())
    if config.init_from is not None:
        config.init_from = str(Path(config.init_from).expanduser().absolute())
    if isinstance(config.data, TextFilesDataConfig):
        for split in (config.data.train, config.data.dev, config.data.test):
            split.source, split.target = _absolute(split.source), _absolute(split.target)
    if isinstance(config.data, TreesDataConfig):
        _bind_trees(config.data)
    if isinstance(config.data, HubDataConfig) and Path(config.data.path).expanduser().is_dir():  # else the hub's
        config.data.path = str(Path(config.data.path).expanduser().absolute())


def _bind_trees(data: TreesDataConfig) -> None:
    if data.path is not None:  # what is named lies in that folder
        data.path = str(Path(data.path).expanduser().absolute())
        return
    data.train, data.dev, data.test = _absolute(data.train), _absolute(data.dev), _absolute(data.test)
    data.silver = None if data.silver is None else _absolute(data.silver)


def _absolute(files: object) -> object:
    if isinstance(files, list):
        return [_absolute(file) for file in files]
    return str(Path(str(files)).expanduser().absolute())
