"""Keep the libraries' remarks that no user can act on out of the terminal."""

import logging
import os
import warnings

from aiayn.system import processes, progress

NOISE = (
    r".*LeafSpec.*",  # torch's pytree, on every fit
    r".*does not have many workers.*",  # batches are read from memory-mapped arrays; workers would be slower
    r".*[Cc]heckpoint directory .* exists and is not empty.*",  # a resumed run's
    r".*`srun` command is available on your system but is not used.*",  # who wants Slurm says so
    r".*is smaller than the logging interval.*",  # short runs are tests
    r"Guards may run slower on Python 3\.13\.0.*",  # of compiled runs
)

LEVELS = {
    **dict.fromkeys(
        ("pytorch_lightning", "lightning.pytorch", "lightning.fabric", "lightning_fabric"), logging.WARNING
    ),
    "torch.utils.cpp_extension": logging.ERROR,  # a compiled run on the CPU looks for CUDA where torch's build has it
}
"""The least level of what these libraries log."""


def quiet_libraries() -> None:
    """Silence them in this process."""
    logging.raiseExceptions = False  # on a full disk each line of run.log would be answered by a traceback
    os.environ.setdefault("WANDB_SILENT", "true")
    os.environ.setdefault("WANDB_ERROR_REPORTING", "false")  # its failures to its makers; ours are told to the user
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
    for message in NOISE:
        warnings.filterwarnings("ignore", message=message)
    if processes.rank():
        logging.getLogger("aiayn").setLevel(logging.WARNING)  # what all ranks have to say the first one says
        os.environ[progress.VARIABLE] = progress.Shown.nothing
    for name, level in LEVELS.items():
        logging.getLogger(name).setLevel(level)
