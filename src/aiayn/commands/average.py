"""`aiayn average`."""

from omegaconf import DictConfig

from aiayn.config.command_schema import AverageConfig
from aiayn.config.freeze import to_dataclass
from aiayn.runs.directory import open_run


def checked(composed: DictConfig) -> AverageConfig:
    """The configuration, as far as it can be judged without files.

    Raises:
        UserError: the command would refuse it.
    """
    return to_dataclass(composed, AverageConfig)


def main(composed: DictConfig) -> None:
    """Average a run's checkpoints; print the new one's file, and of which steps it is the mean."""
    config = checked(composed)
    open_run(config.run)  # before torch is imported, which takes seconds
    from aiayn.inference.averaging import average_run

    average = average_run(config)
    print(f"{average.path}: the mean of steps {', '.join(f'{step:,}' for step in average.steps)}")  # noqa: T201
