"""`aiayn prepare`."""

from pathlib import Path

from omegaconf import DictConfig

from aiayn.config.freeze import typed
from aiayn.config.schema import TrainConfig
from aiayn.config.validation import validate_data, validate_vocabulary


def main(composed: DictConfig) -> None:
    """Bring the corpus into the cache, where every run with these settings finds it, and print what it holds."""
    config = typed(composed, TrainConfig)
    validate_data(config.data)  # settings of the training are not looked at: they do not matter here
    validate_vocabulary(config)
    config.paths.cache = str(Path(config.paths.cache).expanduser())
    from aiayn.launch.preparation import bring_into_cache
    from aiayn.reports.preparation import print_preparation

    preparation = bring_into_cache(config)
    print_preparation(
        preparation.data, name=config.data.name, seconds=preparation.seconds, was_there=preparation.was_there
    )
