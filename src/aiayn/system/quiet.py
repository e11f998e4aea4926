"""Silence messages of libraries that no user can act on."""

import logging
import os
import warnings

from aiayn.system import processes, progress

NOISE = (
    r".*LeafSpec.*",  # torch's pytree, on every fit
    r".*does not have many workers.*",  # batches come from memory-mapped arrays; workers would be slower
    r".*[Cc]heckpoint directory .* exists and is not empty.*",  # a resumed run's
    r".*`srun` command is available on your system but is not used.*",  # Slurm is chosen by hydra/launcher=slurm
    r".*is smaller than the logging interval.*",  # short runs are tests
    r"`broadcast_buffers` is deprecated.*",  # its successor sends the buffers at the start, as no rank needs
    r"Guards may run slower on Python 3\.13\.0.*",  # of compiled runs
)

LEVELS = {
    **dict.fromkeys(
        ("pytorch_lightning", "lightning.pytorch", "lightning.fabric", "lightning_fabric"), logging.WARNING
    ),
    "torch.utils.cpp_extension": logging.ERROR,  # a CUDA build looks for CUDA when it compiles for the CPU
}
"""The lowest level that these loggers show."""


def quiet_libraries() -> None:
    """Silence the libraries, and this program's remarks on ranks other than the first."""
    logging.raiseExceptions = False  # otherwise each line of run.log prints a traceback on a full disk
    os.environ.setdefault("WANDB_SILENT", "true")
    os.environ.setdefault("WANDB_ERROR_REPORTING", "false")  # W&B would send errors to its makers
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
    for message in NOISE:
        warnings.filterwarnings("ignore", message=message)
    if processes.rank():
        logging.getLogger("aiayn").setLevel(logging.WARNING)  # the first rank logs what concerns all
        os.environ[progress.VARIABLE] = progress.Shown.nothing
    for name, level in LEVELS.items():
        logging.getLogger(name).setLevel(level)
