"""Hydra's reader of configuration files, whose errors name the file."""

import math
from pathlib import Path
from typing import TYPE_CHECKING

import yaml
from hydra._internal.core_plugins.file_config_source import FileConfigSource
from hydra._internal.sources_registry import SourcesRegistry

from aiayn.config.store import ALIASES
from aiayn.errors import UserError, error_line
from aiayn.system import files

if TYPE_CHECKING:
    from hydra.plugins.config_source import ConfigResult

MOST_VALUES = 100_000
"""Values of the largest file, with its aliases written out: Hydra copies each of them several times."""


def register_named_files() -> None:
    """Let Hydra read files through `NamedFiles`."""
    # Workers of joblib get the registry before they register Hydra's reader, which the registry compares by its name.
    NamedFiles.__name__ = FileConfigSource.__name__
    SourcesRegistry.instance().types[FileConfigSource.scheme()] = NamedFiles


class NamedFiles(FileConfigSource):
    """Hydra's files of a folder; those of an experiment are found by its alias as well."""

    def is_config(self, config_path: str) -> bool:
        """Whether there is a file."""
        found: bool = super().is_config(_without_alias(config_path))
        return found

    def load_config(self, config_path: str) -> "ConfigResult":
        """Read a file; UserError if it is no mapping in YAML, or too large."""
        config_path = _without_alias(config_path)
        file = Path(self.path, self._normalize_file_name(config_path))
        try:
            _check_size(file)
            return super().load_config(config_path)
        except UserError:
            raise
        except yaml.MarkedYAMLError as error:
            line = "" if error.problem_mark is None else f", line {error.problem_mark.line + 1}"
            raise UserError(f"{file}{line}: not YAML ({error.problem}); correct it") from error
        except Exception as error:
            raise UserError(f"{file}: not a file of configuration ({error_line(error)}); correct it") from error


def _without_alias(path: str) -> str:
    """The path of the experiment itself, or of the values that a profile has for it alone."""
    group, *names = path.split("/")
    if len(names) == {"experiment": 1, "fidelity_for": 2}.get(group):
        names[0] = ALIASES.get(names[0], names[0])
    return "/".join([group, *names])


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
