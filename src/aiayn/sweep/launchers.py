"""Hydra's launchers: which one does the jobs, and what it cannot do."""

from contextlib import suppress
from pathlib import Path

from hydra.conf import HydraConf
from hydra.types import RunMode

from aiayn.errors import UserError
from aiayn.system import processes

BASIC = "BasicLauncher"
"""Hydra's own, which does the jobs in this process."""

BASIC_SWEEPER = "BasicSweeper"
"""Hydra's own, which does every combination of the values that are swept."""

SLURM = "SlurmJobsLauncher"
"""Hands the jobs to Slurm, whose they are from then on."""


def launcher_of(hydra: HydraConf) -> str:
    """The name of the launcher's class."""
    return str(hydra.launcher._target_).rpartition(".")[2]


def sweeper_of(hydra: HydraConf) -> str:
    """The name of the sweeper's class."""
    return str(hydra.sweeper._target_).rpartition(".")[2]


def refusal_of(hydra: HydraConf) -> UserError | None:
    """Why a job cannot be done in the way in which it was asked for; None where it can.

    The folders that Hydra has made for a job that cannot are removed.
    """
    is_multirun = hydra.mode is RunMode.MULTIRUN
    refusal = None
    if is_multirun and processes.by_torchrun():
        refusal = UserError(
            "a multirun under torchrun: its jobs are processes of their own and no ranks: start each run by itself, or "
            "the multirun without torchrun (docs/distributed.md)"
        )
    elif not is_multirun and launcher_of(hydra) != BASIC:  # Hydra would not ask it, and the job would be done here
        name = hydra.runtime.choices.get("hydra/launcher")
        refusal = UserError(f"hydra/launcher={name}: launchers do the jobs of a multirun; add -m, for a single job too")
    if refusal is not None:
        remove_empty(Path(hydra.runtime.output_dir))
    return refusal


def remove_empty(directory: Path) -> None:
    """Take back the folders that Hydra made for a run that is refused: runs/<table>/<row>/<run>."""
    with suppress(OSError):
        for folder in (directory, *directory.parents[:3]):
            folder.rmdir()
