"""Hydra's launchers and sweepers: their names, and the jobs that they refuse."""

from contextlib import suppress
from pathlib import Path

from hydra.conf import HydraConf
from hydra.types import RunMode

from aiayn.errors import UserError
from aiayn.system import processes

BASIC = "BasicLauncher"
"""Hydra's own: runs the jobs in this process."""

BASIC_SWEEPER = "BasicSweeper"
"""Hydra's own: runs every combination of the swept values."""

REGISTERED_SWEEPER = "RegisteredSweeper"
"""Runs a pre-registered study."""

JOBLIB = "JoblibLauncher"
"""Runs the jobs in processes of this machine."""

SLURM = "SlurmJobsLauncher"


def launcher_of(hydra: HydraConf) -> str:
    """The name of the launcher's class."""
    return str(hydra.launcher._target_).rpartition(".")[2]


def sweeper_of(hydra: HydraConf) -> str:
    """The name of the sweeper's class."""
    return str(hydra.sweeper._target_).rpartition(".")[2]


def refusal_of(hydra: HydraConf) -> UserError | None:
    """The reason why a job cannot be launched; the folders that Hydra made for it are then removed."""
    is_multirun = hydra.mode is RunMode.MULTIRUN
    if is_multirun and processes.by_torchrun():
        reason = (
            "a multirun under torchrun: its jobs start processes of their own: start each run by itself, or "
            "the multirun without torchrun (docs/distributed.md)"
        )
    elif not is_multirun and launcher_of(hydra) != BASIC:  # Hydra would ignore it
        name = hydra.runtime.choices.get("hydra/launcher")
        reason = f"hydra/launcher={name}: launchers run the jobs of a multirun; add -m, for one job too"
    else:
        return None
    remove_empty(Path(hydra.runtime.output_dir))
    return UserError(reason)


def remove_empty(directory: Path) -> None:
    """Remove the folders that Hydra made for a run that is refused: runs/<table>/<row>/<run>."""
    with suppress(OSError):
        for folder in (directory, *directory.parents[:3]):
            if folder == Path.cwd():
                return
            folder.rmdir()
