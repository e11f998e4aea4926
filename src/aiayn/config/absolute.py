"""Paths of a configuration made absolute."""

from collections.abc import Iterator
from operator import attrgetter
from pathlib import Path
from typing import Any

from aiayn.config.data_schema import HubDataConfig, TextFilesDataConfig, TreesDataConfig
from aiayn.config.freeze import plain
from aiayn.config.identity import flatten
from aiayn.config.schema import GivenTokenizerConfig, TrainConfig
from aiayn.errors import UserError
from aiayn.registry import run_elsewhere
from aiayn.system import files


def make_absolute(config: TrainConfig) -> None:
    """Make paths absolute: workers and later commands may have another working directory.

    `identity.typed` keeps the values as typed of those that are part of the run's identity.

    Raises:
        UserError: a path is not UTF-8, or a value has "${", which a frozen configuration cannot state.
    """
    config.paths.runs, config.paths.cache = _absolute(config.paths.runs), _absolute(config.paths.cache)
    for key in _paths(config):
        place, _, name = key.rpartition(".")
        holder = attrgetter(place)(config) if place else config
        typed = getattr(holder, name)
        absolute = _absolute(typed)
        if absolute != typed:
            setattr(holder, name, absolute)
            config.identity.typed[key] = typed
    for key, value in flatten(plain(config)).items():
        check_literal(key, value)


def check_literal(key: str, value: object) -> None:
    """UserError for a value that Hydra would read as a reference to another one."""
    if "${" in str(value):
        raise UserError(f"{key}={value}: Hydra reads ${{ in a value as a reference; rename it, without ${{")


def _paths(config: TrainConfig) -> Iterator[str]:
    """The keys of paths that are part of the run's identity."""
    data = config.data
    if not run_elsewhere(str(config.init_from)):
        yield "init_from"
    if isinstance(config.tokenizer, GivenTokenizerConfig):
        yield "tokenizer.vocabulary"
    if isinstance(data, TextFilesDataConfig):
        yield from (f"data.{split}.{side}" for split in ("train", "dev", "test") for side in ("source", "target"))
    elif isinstance(data, TreesDataConfig):  # the other fields are names in the folder, if one is stated
        yield from ("data.train", "data.dev", "data.test", "data.silver") if data.path is None else ("data.path",)
    elif isinstance(data, HubDataConfig) and files.is_dir(Path(data.path).expanduser()):  # else a name on the hub
        yield "data.path"


def _absolute(named: Any) -> Any:
    """A path, a list of them, or None; UserError for one that a configuration cannot state."""
    if isinstance(named, list):
        return [_absolute(file) for file in named]
    if named is None:
        return None
    path = str(Path(str(named)).expanduser().absolute())
    if not files.is_utf8(path):
        raise UserError(f"{path!r}: is not UTF-8, and so in no configuration; rename the file or folder")
    return path
