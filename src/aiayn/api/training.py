"""Training from a program or a notebook."""

import json
from os import PathLike
from pathlib import Path

from aiayn.api.configurations import Overrides, compose, stated
from aiayn.api.processes import run_command
from aiayn.api.run import Run, load
from aiayn.commands.composing import folder_flags
from aiayn.config.schema import TrainConfig


def train(overrides: Overrides | TrainConfig = (), *, config_dir: str | PathLike[str] | None = None) -> Run:
    """Train, evaluate and record a run as `aiayn train <overrides>` does, in processes of its own.

    A finished run is returned at once, an interrupted one resumed, a failed one retried. A KeyboardInterrupt (Ctrl-C,
    or the stop button of a notebook) ends the run with its checkpoint written.

    Args:
        overrides: groups and keys of `aiayn train`, each as in "model.num_heads=4", or a configuration of `compose`.
        config_dir: a folder of configuration files of your own, as `--config-dir`; `compose` has stated that of a
            configuration.

    Raises:
        UserError: a mistake in the overrides, or the run is held by another process.
        RunFailedError: the run started and could not finish.
    """
    words, folder = stated(overrides, config_dir)
    config = compose(words, config_dir=folder)
    run_command(["train", *words, *folder_flags(folder)])
    return load(Path(config.paths.runs).expanduser() / config.identity.name, trust=True)


def train_sweep(overrides: Overrides | TrainConfig, *, config_dir: str | PathLike[str] | None = None) -> list[Run]:
    """Train a run for each combination of values as `aiayn train -m <overrides>` does, and return the runs in order.

    As for `train`, finished runs are not repeated, and an interrupt lets the next call go on.

    Args:
        overrides: as for `train`; several values are separated by commas, as in "seed=1,2,3".
        config_dir: as for `train`.

    Raises:
        UserError: a mistake in the overrides.
        RunFailedError: a run could not finish; the others have been done.
    """
    words, folder = stated(overrides, config_dir)
    outcome = json.loads(run_command(["train", "-m", *words, "format=json", *folder_flags(folder)]))
    return [load(job["run"], trust=True) for job in outcome["jobs"]]
