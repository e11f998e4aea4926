"""Composed configuration -> typed dataclass -> the frozen file that every process of a run reads."""

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import yaml
from omegaconf import MISSING, DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from aiayn.config.data_schema import DATA_TYPES, CorpusKind
from aiayn.config.identity import EARLIER_KEYS, LATER_KEYS, flatten
from aiayn.config.model_kinds import MODEL_TYPES
from aiayn.config.schema import TOKENIZER_TYPES, TokenizerKind, TrainConfig
from aiayn.config.validation import validate_sizes
from aiayn.config.values import check_values
from aiayn.errors import UserError
from aiayn.system import files
from aiayn.system.documents import DEEPEST, MOST_BITS

Config = TypeVar("Config")

LOADER: type[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""PyYAML may lack libyaml, which is seven times faster."""

GROUPS = {field.name for field in dataclasses.fields(TrainConfig)} - {"seed", "force", "init_from"} | {"identity.typed"}
"""Keys of a configuration that have keys of their own."""

MOST_VALUES = 100_000
"""Values of one level of a configuration: aliases of YAML can make any number of few."""

MOST_LETTERS = 200
"""Shown of an error of YAML."""


def to_dataclass(composed: DictConfig, kind: type[Config]) -> Config:
    """The composed configuration as the dataclass `kind`, with every interpolation resolved.

    Raises:
        UserError: a value is missing or out of range, or a key is not in the schema.
    """
    written = {str(key): value for key, value in OmegaConf.to_container(composed, resolve=False).items()}  # type: ignore[union-attr]
    missing = min((key for key, value in flatten(written).items() if value == MISSING), default=None)
    if missing is not None:
        raise UserError(f"{missing} has no value: state it, as in {missing}=...")
    config = OmegaConf.to_object(composed)
    assert isinstance(config, kind)
    check_values(config)
    return config


def frozen_text(config: TrainConfig) -> str:
    """The configuration as YAML; `load_config` reads it back."""
    return OmegaConf.to_yaml(OmegaConf.structured(config))


def load_config(path: Path) -> TrainConfig:
    """Read a frozen configuration; UserError if it is missing, not one of this version, or breaks a rule of its values.

    A class of the user's own is not looked for: the one who needs it does.
    """
    content = frozen_content(path)
    _check_frozen(content, path)
    drop_earlier_keys(content, path)
    try:
        schema = OmegaConf.structured(TrainConfig)
        schema.data = OmegaConf.structured(DATA_TYPES[CorpusKind[content["data"]["kind"]]])
        schema.tokenizer = OmegaConf.structured(TOKENIZER_TYPES[TokenizerKind[content["tokenizer"]["kind"]]])
        schema.model = OmegaConf.structured(MODEL_TYPES[content["model"]["kind"]])
        merged = OmegaConf.merge(schema, content)
        assert isinstance(merged, DictConfig)
        for key, value in LATER_KEYS.items():
            group, _, name = key.rpartition(".")
            if OmegaConf.is_missing(merged[group], name):  # false for a kind without the key
                merged[group][name] = value
        config = OmegaConf.to_object(merged)
    except (OmegaConfBaseException, KeyError, TypeError, ValueError) as error:
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise UserError(f"{path}: not a configuration of this version ({reason}); check out its commit") from None
    assert isinstance(config, TrainConfig)
    try:
        check_values(config)
        validate_sizes(config)
    except UserError as error:
        raise UserError(f"{path}: {error}; restore the file") from None
    return config


def drop_earlier_keys(content: Mapping[str, Any], path: Path) -> None:
    """Remove the keys of `EARLIER_KEYS` from a frozen configuration; UserError if one has another value."""
    for key, dropped in EARLIER_KEYS.items():
        group, _, name = key.rpartition(".")
        settings = content.get(group)
        value = settings.pop(name, dropped) if isinstance(settings, dict) else dropped
        if value != dropped:
            raise UserError(
                f"{path}: {key}={json.dumps(value)}: this version has no such setting; check out the run's commit, or "
                f"write {json.dumps(dropped)} there to go on without it"
            )


def _check_frozen(content: Mapping[str, Any], path: Path) -> None:
    """Refuse expressions, which could read this machine's variables, and names that lead out of the folder of runs."""
    for key, value in flatten(content).items():
        if "${" in str(value):
            raise UserError(
                f"{path}: {key} holds an expression, and a frozen configuration has values; restore the file"
            )
    stated = content.get("identity")
    identity = stated if isinstance(stated, Mapping) else {}
    for name in ("name", "experiment", "scale", "fidelity"):
        if not files.is_inside(str(identity.get(name, name))):
            raise UserError(f"{path}: identity.{name}={identity[name]} leads out of its folder; restore the file")


def frozen_content(path: Path) -> dict[str, Any]:
    """A frozen configuration as plain containers, not compared with the schema; UserError if it cannot be read.

    Its values are plain, and its groups are mappings.
    """
    try:
        content: dict[str, Any] = yaml.load(files.read_text(path), Loader=LOADER)  # noqa: S506 (both are safe)
        _check_plain(content)
    except FileNotFoundError:
        raise UserError(f"{path}: no such file; is {path.parent} a run directory?") from None
    except UserError:
        raise
    except RecursionError:
        raise UserError(f"{path}: not a configuration (nested too deep); restore the file") from None
    except (yaml.YAMLError, ValueError, TypeError, AttributeError) as error:
        reason = " ".join(str(error).split())[:MOST_LETTERS]
        raise UserError(f"{path}: not a configuration ({reason}); restore the file") from None
    return content


def _check_plain(content: Any) -> None:
    """Refuse what no frozen configuration has; TypeError, ValueError, or RecursionError of deep nesting."""
    if not isinstance(content, dict):
        raise TypeError("no mapping")
    identity = content.get("identity")
    typed = {"identity.typed": identity.get("typed")} if isinstance(identity, dict) else {}
    for key, value in {**content, **typed}.items():
        if key in GROUPS and not _is_group(value):
            raise TypeError(f"{key}={value}: must be a group of values")
    left: list[tuple[str, Any]] = [("", content)]
    depth = 0
    while left:
        if (depth := depth + 1) > DEEPEST or len(left) > MOST_VALUES:
            raise RecursionError
        left = [
            (f"{key}.{name}" if key else str(name), entry)
            for key, value in left
            if isinstance(value, dict | list)
            for name, entry in (value.items() if isinstance(value, dict) else enumerate(value))
        ]
        for key, value in left:
            if not isinstance(value, dict | list | str | int | float | None):
                raise TypeError(f"{key}={value}: a {type(value).__name__}, which no setting is")
            if isinstance(value, int) and value.bit_length() > MOST_BITS:
                raise ValueError(f"{key}: has more than 64 bits")


def _is_group(value: Any) -> bool:
    """Whether a value is a mapping by names, or none."""
    return value is None or (isinstance(value, dict) and all(isinstance(name, str) for name in value))


def plain(config: TrainConfig) -> dict[str, Any]:
    """The configuration as containers of plain values."""
    content = OmegaConf.to_container(OmegaConf.structured(config), enum_to_str=True)
    assert isinstance(content, dict)
    return {str(key): value for key, value in content.items()}
