"""`aiayn average`."""

from aiayn.config.command_schema import AverageConfig
from aiayn.runs.directory import open_run


def main(config: AverageConfig) -> None:
    """Average a run's checkpoints; print the path of the new one, and the steps."""
    open_run(config.run)  # before torch is imported, which takes seconds
    from aiayn.inference.averaging import average_run

    average = average_run(config)
    print(f"{average.path}: average of the checkpoints at steps {', '.join(f'{step:,}' for step in average.steps)}")  # noqa: T201
