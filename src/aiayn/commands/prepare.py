"""`aiayn prepare`."""

from pathlib import Path

from omegaconf import DictConfig

from aiayn.config.computed import check_computed, refuse_stated_identity
from aiayn.config.freeze import to_dataclass
from aiayn.config.schema import TrainConfig
from aiayn.config.validation import validate_data, validate_vocabulary


def checked(composed: DictConfig) -> TrainConfig:
    """The configuration of a corpus. Settings of the training are not judged: they do not matter here.

    Raises:
        UserError: the corpus would be refused.
    """
    refuse_stated_identity(composed, "prepare")
    config = to_dataclass(composed, TrainConfig)
    check_computed(config)
    validate_data(config.data)
    validate_vocabulary(config)
    return config


def main(composed: DictConfig) -> None:
    """Bring the corpus into the cache, where every run with these settings finds it, and print what it holds."""
    config = checked(composed)
    config.paths.cache = str(Path(config.paths.cache).expanduser())
    from aiayn.builders.preparation import bring_into_cache
    from aiayn.reports.preparation import print_preparation

    preparation = bring_into_cache(config)
    print_preparation(
        preparation.data, name=config.data.name, seconds=preparation.seconds, was_there=preparation.was_there
    )
