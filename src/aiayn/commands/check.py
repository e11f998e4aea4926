"""`aiayn check`."""

from aiayn.config.computed import check_computed
from aiayn.config.schema import TrainConfig
from aiayn.config.validation import validate_model


def check(config: TrainConfig) -> None:
    """Refuse values of the model that `aiayn train` would refuse."""
    check_computed(config)
    validate_model(config.model)


def main(config: TrainConfig) -> None:
    """Check the properties of the configuration's model and print them; RunFailedError if it lacks one."""
    from aiayn.reports.model_check import print_checks  # imports torch

    print_checks(config)
