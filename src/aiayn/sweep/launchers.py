"""Hydra's launchers and sweepers: their names, and how they run jobs."""

from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from hydra.conf import HydraConf

from aiayn.errors import UserError
from aiayn.registry import added_launchers
from aiayn.system import processes

BASIC = "BasicLauncher"
"""Hydra's own: runs the jobs in this process."""

BASIC_SWEEPER = "BasicSweeper"
"""Hydra's own: runs every combination of the swept values."""

JOBLIB = "JoblibJobsLauncher"
"""Runs the jobs in processes of this machine."""


class Jobs(NamedTuple):
    """How a launcher runs its jobs."""

    are_here: bool
    """On this machine, with the command's standard error."""
    are_side_by_side: bool
    """Several at once, in processes of their own."""
    outlive_the_command: bool
    """A scheduler keeps them."""


JOBS_OF = {
    BASIC: Jobs(are_here=True, are_side_by_side=False, outlive_the_command=False),
    JOBLIB: Jobs(are_here=True, are_side_by_side=True, outlive_the_command=False),
    **{
        launcher.plugin: Jobs(are_here=False, are_side_by_side=True, outlive_the_command=launcher.outlives_the_command)
        for launcher in added_launchers().values()
    },
}
"""By the name of the launcher's class."""


def jobs_of(hydra: HydraConf) -> Jobs:
    """How the launcher runs its jobs; one of the user's own is taken for one like joblib's."""
    return JOBS_OF.get(launcher_of(hydra), JOBS_OF[JOBLIB])


def launcher_of(hydra: HydraConf) -> str:
    """The name of the launcher's class."""
    return str(hydra.launcher._target_).rpartition(".")[2]


def sweeper_of(hydra: HydraConf) -> str:
    """The name of the sweeper's class."""
    return str(hydra.sweeper._target_).rpartition(".")[2]


def check_no_group() -> None:
    """Refuse a multirun whose command was started as one of a group: each process would run all jobs; UserError."""
    if processes.is_rank():
        raise UserError(
            "torchrun or srun started this multirun as several processes; start it as one process, or each run by "
            "itself (docs/distributed.md)"
        )


def remove_empty(directory: Path) -> None:
    """Remove the folders that Hydra made for a run that is refused: runs/<table>/<row>/<run>."""
    with suppress(OSError):
        for folder in (directory, *directory.parents[:3]):
            if folder == Path.cwd():
                return
            folder.rmdir()
