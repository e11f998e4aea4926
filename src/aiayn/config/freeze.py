"""From a composed configuration to typed dataclasses and to the frozen file that every process of a run reads."""

import dataclasses
from pathlib import Path
from typing import Any, TypeVar, cast

import yaml
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import InterpolationToMissingValueError, MissingMandatoryValue, OmegaConfBaseException

from aiayn.config.data_schema import DATA_TYPES, CorpusKind, FiltersConfig
from aiayn.config.history import BEFORE
from aiayn.config.model_schema import MODEL_TYPES, ModelKind
from aiayn.config.schema import AveragingConfig, CostConfig, TrainConfig
from aiayn.config.values import check_values
from aiayn.errors import UserError

Config = TypeVar("Config")


def to_dataclass(composed: DictConfig, kind: type[Config]) -> Config:
    """The composed configuration as the dataclass `kind`, every interpolation resolved.

    Raises:
        UserError: a mandatory value was not given, or a value makes no sense.
    """
    try:
        config = OmegaConf.to_object(composed)
    except (MissingMandatoryValue, InterpolationToMissingValueError):
        first = min(OmegaConf.missing_keys(composed))
        raise UserError(f"{first} has no value: state it, as in {first}=...") from None
    assert isinstance(config, kind)
    _refuse_additions(config, "")
    check_values(config)
    return config


def _refuse_additions(node: object, prefix: str) -> None:
    """Hydra's `+key=value` adds keys past the schema; nothing would read them."""
    if not dataclasses.is_dataclass(node):
        return
    names = {field.name for field in dataclasses.fields(node)}
    for key, value in vars(node).items():
        if key not in names:
            raise UserError(f"{prefix}{key}: no such key; + adds keys only below trainer, callbacks and logger")
        _refuse_additions(value, f"{prefix}{key}.")


def frozen_text(config: TrainConfig) -> str:
    """The configuration as YAML, from which `load_config` makes the same dataclass again."""
    return OmegaConf.to_yaml(OmegaConf.structured(config))


def load_config(path: Path) -> TrainConfig:
    """Read a frozen configuration, also one from before there were all keys.

    Raises:
        UserError: the file is missing, or no configuration of this version.
    """
    try:
        content = OmegaConf.load(path)
        assert isinstance(content, DictConfig)
        schema = OmegaConf.structured(TrainConfig)
        schema.data = OmegaConf.structured(DATA_TYPES[CorpusKind[content.data.kind]])
        schema.data.filters = OmegaConf.structured(FiltersConfig)  # its keys may be missing one by one
        schema.model = OmegaConf.structured(MODEL_TYPES[ModelKind[content.model.get("kind", BEFORE["model.kind"])]])
        schema.averaging = OmegaConf.structured(AveragingConfig)  # a whole group that some runs are older than
        schema.cost = OmegaConf.structured(CostConfig)  # younger than some runs as a whole
        merged = OmegaConf.merge(schema, content)
        for key in OmegaConf.missing_keys(merged) & BEFORE.keys():
            OmegaConf.update(merged, key, BEFORE[key])
        return cast("TrainConfig", OmegaConf.to_object(merged))
    except FileNotFoundError:
        raise UserError(f"{path}: no such file; is {path.parent} a run directory?") from None
    except (OmegaConfBaseException, yaml.YAMLError, AssertionError, KeyError) as error:
        reason = str(error).splitlines()[0] if str(error) else "not a configuration"
        raise UserError(f"{path}: not a configuration of this version ({reason})") from None


def frozen_content(path: Path) -> dict[str, Any]:
    """A frozen configuration as plain containers, also one of another version, which `load_config` refuses.

    Raises:
        UserError: the file is missing, or no configuration.
    """
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UserError(f"{path}: no such file; is {path.parent} a run directory?") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: not a configuration ({str(error).splitlines()[0]})") from None
    if not isinstance(content, dict):
        raise UserError(f"{path}: not a configuration (no mapping)")
    return content


def plain(config: TrainConfig) -> dict[str, Any]:
    """The configuration as containers of plain values."""
    content = OmegaConf.to_container(OmegaConf.structured(config), enum_to_str=True)
    assert isinstance(content, dict)
    return {str(key): value for key, value in content.items()}
