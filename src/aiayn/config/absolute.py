"""Paths of a configuration made absolute."""

from pathlib import Path
from typing import Any

from aiayn.config.data_schema import HubDataConfig, TextFilesDataConfig, TreesDataConfig
from aiayn.config.schema import TrainConfig

HUB = "hub:"
"""The first letters of the name of a run on the hub, where a path could stand too."""


def make_absolute(config: TrainConfig) -> None:
    """Make paths absolute: workers and later commands may have another working directory."""
    config.paths.runs, config.paths.cache = _absolute(config.paths.runs), _absolute(config.paths.cache)
    if not str(config.init_from).startswith(HUB):
        config.init_from = _absolute(config.init_from)
    data = config.data
    if isinstance(data, TextFilesDataConfig):
        for split in (data.train, data.dev, data.test):
            split.source, split.target = _absolute(split.source), _absolute(split.target)
    elif isinstance(data, TreesDataConfig):
        if data.path is not None:  # the other fields are names in that folder
            data.path = _absolute(data.path)
        else:
            data.train, data.dev, data.test = _absolute(data.train), _absolute(data.dev), _absolute(data.test)
            data.silver = _absolute(data.silver)
    elif isinstance(data, HubDataConfig) and Path(data.path).expanduser().is_dir():  # else a name on the hub
        data.path = _absolute(data.path)


def _absolute(files: Any) -> Any:
    """A path, a list of them, or None."""
    if isinstance(files, list):
        return [_absolute(file) for file in files]
    return None if files is None else str(Path(str(files)).expanduser().absolute())
