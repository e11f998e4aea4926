"""Hydra's sources of configuration: files, whose errors name the file, and schemas."""

import copy
import math
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import yaml
from hydra._internal.core_plugins.file_config_source import FileConfigSource
from hydra._internal.core_plugins.structured_config_source import StructuredConfigSource
from hydra._internal.sources_registry import SourcesRegistry

from aiayn.config.store import ALIASES, SWEEPS, conf_directory, sweeps_directory
from aiayn.errors import UserError, error_line
from aiayn.system import files

if TYPE_CHECKING:
    from hydra.core.object_type import ObjectType
    from hydra.plugins.config_source import ConfigResult

MOST_VALUES = 100_000
"""Values of the largest file, with its aliases written out: Hydra copies each of them several times."""


def register_sources() -> None:
    """Let Hydra read files through `NamedFiles`, and schemas through `SharedSchemas`."""
    for hydras, source in ((FileConfigSource, NamedFiles), (StructuredConfigSource, SharedSchemas)):
        # Workers of joblib get the registry before they register Hydra's own, which it compares by their names.
        source.__name__ = hydras.__name__
        SourcesRegistry.instance().types[source.scheme()] = source


class SharedSchemas(StructuredConfigSource):
    """Hydra's store of schemas, of which Hydra gets no copy for each question: a sixth of the time of composing."""

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self


class NamedFiles(FileConfigSource):
    """Hydra's files of a folder; an experiment is found by its alias as well, and conf/ has sweeps/ as a group.

    A search path for sweeps/ would make groups of all folders beside it.
    """

    def is_group(self, config_path: str) -> bool:
        """Whether there is a folder."""
        found: bool = super().is_group(self._place(config_path))
        return found

    def is_config(self, config_path: str) -> bool:
        """Whether there is a file."""
        found: bool = super().is_config(self._place(config_path))
        return found

    def list(self, config_path: str, results_filter: "ObjectType | None") -> "list[str]":
        """The names in a folder."""
        found: list[str] = super().list(self._place(config_path), results_filter)
        return found

    def load_config(self, config_path: str) -> "ConfigResult":
        """Read a file, once as long as it stays the same; UserError if it is no mapping in YAML, or too large."""
        place = self._place(config_path)
        file = Path(self.path, self._normalize_file_name(place))
        try:
            stamp = file.stat()
            key = self.provider, str(file), stamp.st_mtime_ns, stamp.st_size
            if key not in _READ:
                _check_size(file)
                _READ[key] = super().load_config(place)
            return copy.deepcopy(_READ[key])  # Hydra takes the defaults out of it
        except UserError:
            raise
        except yaml.MarkedYAMLError as error:
            line = "" if error.problem_mark is None else f", line {error.problem_mark.line + 1}"
            raise UserError(f"{file}{line}: not YAML ({error.problem}); correct it") from error
        except Exception as error:
            raise UserError(f"{file}: not a file of configuration ({error_line(error)}); correct it") from error

    def _place(self, path: str) -> str:
        """The path of the file itself, or of the values that a profile has for an experiment alone."""
        group, *names = path.split("/")
        if len(names) == {"experiment": 1, "fidelity_for": 2}.get(group):
            names[0] = ALIASES.get(names[0], names[0])
        if group == SWEEPS and Path(self.path) == conf_directory():
            group = os.path.relpath(sweeps_directory(), self.path)
        return "/".join([group, *names])


_READ: "dict[tuple[str, str, int, int], ConfigResult]" = {}
"""What was read, by the source's name, the file, its time and its size."""


def _check_size(file: Path) -> None:
    """Refuse a file whose aliases, written out, are too many values, or hold themselves."""
    text = files.read_text(file)
    root = yaml.compose(text, Loader=yaml.SafeLoader) if "&" in text else None
    if root is not None and not _values(root, {}) <= MOST_VALUES:
        raise UserError(f"{file}: its aliases stand for more than {MOST_VALUES:,} values; write fewer")


def _values(node: yaml.Node, known: dict[int, float]) -> float:
    """The number of values of a node, with its aliases written out; infinite for one that holds itself."""
    if id(node) not in known:
        known[id(node)] = math.inf
        parts = [node.value] if isinstance(node, yaml.SequenceNode) else []
        parts += node.value if isinstance(node, yaml.MappingNode) else []
        known[id(node)] = 1 + sum(_values(each, known) for part in parts for each in part)
    return known[id(node)]
