"""Composed configuration -> typed dataclass -> the frozen file that every process of a run reads."""

from pathlib import Path
from typing import Any, TypeVar

import yaml
from omegaconf import MISSING, DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from aiayn.config.data_schema import DATA_TYPES, CorpusKind
from aiayn.config.identity import LATER_KEYS, flatten
from aiayn.config.model_schema import MODEL_TYPES, ModelKind
from aiayn.config.schema import TOKENIZER_TYPES, TokenizerKind, TrainConfig
from aiayn.config.values import check_values
from aiayn.errors import UserError
from aiayn.system import files

Config = TypeVar("Config")

LOADER: type[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""PyYAML may lack libyaml, which is seven times faster."""


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
    """Read a frozen configuration; UserError if it is missing or not one of this version."""
    content = frozen_content(path)
    for group, name, value in ((*key.split("."), value) for key, value in LATER_KEYS.items()):
        if isinstance(content.get(group), dict):
            content[group].setdefault(name, value)
    try:
        schema = OmegaConf.structured(TrainConfig)
        schema.data = OmegaConf.structured(DATA_TYPES[CorpusKind[content["data"]["kind"]]])
        schema.tokenizer = OmegaConf.structured(TOKENIZER_TYPES[TokenizerKind[content["tokenizer"]["kind"]]])
        schema.model = OmegaConf.structured(MODEL_TYPES[ModelKind[content["model"]["kind"]]])
        config = OmegaConf.to_object(OmegaConf.merge(schema, content))
    except (OmegaConfBaseException, KeyError, TypeError) as error:
        raise UserError(
            f"{path}: not a configuration of this version ({str(error).splitlines()[0]}); check out its commit"
        ) from None
    assert isinstance(config, TrainConfig)
    return config


def frozen_content(path: Path) -> dict[str, Any]:
    """A frozen configuration as plain containers, not compared with the schema; UserError if it cannot be read."""
    try:
        content = yaml.load(files.read_text(path), Loader=LOADER)  # noqa: S506 (both are safe)
    except FileNotFoundError:
        raise UserError(f"{path}: no such file; is {path.parent} a run directory?") from None
    except yaml.YAMLError as error:
        raise UserError(f"{path}: not a configuration ({str(error).splitlines()[0]}); restore the file") from None
    if not isinstance(content, dict):
        raise UserError(f"{path}: not a configuration (no mapping); restore the file")
    return content


def plain(config: TrainConfig) -> dict[str, Any]:
    """The configuration as containers of plain values."""
    content = OmegaConf.to_container(OmegaConf.structured(config), enum_to_str=True)
    assert isinstance(content, dict)
    return {str(key): value for key, value in content.items()}
