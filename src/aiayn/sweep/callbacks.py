"""The user's callbacks of Hydra, as one."""

import logging
from typing import Any

from hydra.core.utils import JobReturn
from hydra.experimental.callback import Callback
from hydra.types import TaskFunction
from omegaconf import DictConfig

from aiayn.config.hydra_versions import create
from aiayn.errors import error_line

logger = logging.getLogger("aiayn")


class UserCallbacks(Callback):
    """Calls all of `hydra.callbacks`; one that fails is named in a warning, and stops no job."""

    def __init__(self, composed: DictConfig) -> None:
        self._each: list[Callback] = [create(each) for each in (composed.hydra.callbacks or {}).values()]

    def on_run_start(self, config: DictConfig, **others: Any) -> None:
        """See `Callback`."""
        self._call("on_run_start", config=config, **others)

    def on_run_end(self, config: DictConfig, **others: Any) -> None:
        """See `Callback`."""
        self._call("on_run_end", config=config, **others)

    def on_multirun_start(self, config: DictConfig, **others: Any) -> None:
        """See `Callback`."""
        self._call("on_multirun_start", config=config, **others)

    def on_multirun_end(self, config: DictConfig, **others: Any) -> None:
        """See `Callback`."""
        self._call("on_multirun_end", config=config, **others)

    def on_job_start(self, config: DictConfig, *, task_function: TaskFunction, **others: Any) -> None:
        """See `Callback`."""
        self._call("on_job_start", config=config, task_function=task_function, **others)

    def on_job_end(self, config: DictConfig, job_return: JobReturn, **others: Any) -> None:
        """See `Callback`."""
        self._call("on_job_end", config=config, job_return=job_return, **others)

    def _call(self, event: str, **arguments: Any) -> None:
        for callback in self._each:
            try:
                getattr(callback, event)(**arguments)
            except Exception as error:
                name = type(callback).__name__
                logger.warning("hydra.callbacks: %s.%s: %s", name, event, error_line(error))
