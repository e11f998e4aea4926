"""Configurations of runs, composed and judged as the command line does."""

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import TypeAlias

from aiayn.api.words import folder, texts
from aiayn.commands.composing import typed_configuration
from aiayn.config.schema import TrainConfig
from aiayn.errors import UserError

Overrides: TypeAlias = Sequence[str]
"""The words of a command line, such as `["experiment=table3/a_h1", "scale=nano", "seed=2"]`."""


EXAMPLE = "['scale=nano', 'seed=2']"


class ComposedConfig(TrainConfig):
    """The configuration of a run, and the command line that it was composed of."""

    overrides: tuple[str, ...] | None = None
    """None for a copy by `dataclasses.replace`."""
    config_dir: Path | None = None


def compose(overrides: Overrides = (), *, config_dir: str | PathLike[str] | None = None) -> ComposedConfig:
    """Return the configuration of `aiayn train <overrides>`, judged as the command would; nothing is started.

    Args:
        overrides: groups and keys of `aiayn train`, each as in "model.num_heads=4".
        config_dir: a folder of configuration files of your own, as `--config-dir`.

    Raises:
        UserError: a mistake in the overrides, with the line that the command would print.
    """
    words, own = stated(overrides, config_dir)
    config = ComposedConfig(**vars(typed_configuration("train", words, config_dir=own)))
    config.overrides, config.config_dir = tuple(words), own
    return config


def stated(overrides: Overrides | TrainConfig, config_dir: str | PathLike[str] | None) -> tuple[Overrides, Path | None]:
    """Return the overrides and the folder of configuration that were stated, or that a configuration was composed of.

    Raises:
        UserError: the configuration was not made by `compose`, or was changed since: its identity and the recorded
            command would be those of another run; or a folder was stated with it.
    """
    if not isinstance(overrides, TrainConfig):
        own = None if config_dir is None else Path(folder(config_dir, "config_dir"))
        return texts(overrides, "overrides", example=EXAMPLE), own
    if config_dir is not None:
        raise UserError(f"config_dir={config_dir}: aiayn.compose has stated that of a configuration; leave it out")
    if not isinstance(overrides, ComposedConfig) or overrides.overrides is None:
        raise UserError("config: was not made by aiayn.compose; state overrides instead")
    if compose(overrides.overrides, config_dir=overrides.config_dir) != overrides:
        raise UserError("config: was changed after aiayn.compose; state the changes as overrides instead")
    return overrides.overrides, overrides.config_dir
