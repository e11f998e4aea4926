"""`aiayn prepare`."""

from pathlib import Path

from aiayn.config.computed import check_computed
from aiayn.config.schema import TrainConfig
from aiayn.config.validation import validate_data, validate_vocabulary


def check(config: TrainConfig) -> None:
    """Refuse a corpus that cannot be prepared; settings of the training do not matter."""
    check_computed(config)
    validate_data(config.data)
    validate_vocabulary(config)


def main(config: TrainConfig) -> None:
    """Prepare the corpus in the cache, where every run with these settings finds it, and print its sizes."""
    config.paths.cache = str(Path(config.paths.cache).expanduser())
    from aiayn.builders.preparation import prepare_in_cache
    from aiayn.reports.preparation import print_preparation

    preparation = prepare_in_cache(config)
    print_preparation(
        preparation.data, name=config.data.name, seconds=preparation.seconds, was_there=preparation.was_there
    )
