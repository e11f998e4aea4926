"""The costs of an attempt, counted while it runs and kept on disk in case it is killed."""

import dataclasses
import logging
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import final

import torch

from aiayn.config.schema import CostConfig
from aiayn.costs.devices import group_by_name, own_device
from aiayn.costs.energy import Energy, gpu_counters, processor_counters
from aiayn.errors import UserError
from aiayn.models.cost import ModelCost
from aiayn.runs.cost import Attempt, RunCost
from aiayn.runs.record import json_text
from aiayn.system import files
from aiayn.training.meter import AttemptCounters
from aiayn.training.process_group import ALONE, ProcessGroup

logger = logging.getLogger("aiayn")

WRITE_SECONDS = 10.0
"""Between two writes of the account: at most this much is lost when a run is killed."""


@final
class CostMeter:
    """The account of a run during an attempt, on the first rank, kept up to date in a file.

    Energy is counted only if all processes are on this host, on the GPUs with these UUIDs.
    """

    def __init__(
        self,
        path: Path,
        *,
        earlier: Sequence[Attempt],
        attempt: Attempt,
        gpus: Sequence[str] = (),
        is_one_host: bool = True,
        write_seconds: float = WRITE_SECONDS,
    ) -> None:
        self._path = path
        self._earlier = tuple(earlier)
        self._attempt = attempt
        self._gpu_energy = Energy(gpu_counters(gpus) if gpus and is_one_host else [])
        self._processor_energy = Energy(processor_counters() if is_one_host else [])
        self._write_seconds = write_seconds
        self._spent = AttemptCounters()
        self._model: ModelCost | None = None
        self._evaluating_since: float | None = None
        self._lock = threading.Lock()
        self._is_over = threading.Event()

    def follow(self, spent: AttemptCounters, model: ModelCost) -> None:
        """Take tokens and times of training from this counter, and operations from this model."""
        self._spent, self._model = spent, model

    @contextmanager
    def evaluating(self) -> Iterator[None]:
        """Count the time of the block as evaluation."""
        self._evaluating_since = time.perf_counter()
        try:
            yield
        finally:
            self._attempt = dataclasses.replace(self._attempt, evaluation_seconds=self._evaluation_seconds())
            self._evaluating_since = None

    def _evaluation_seconds(self) -> float:
        since = self._evaluating_since
        return self._attempt.evaluation_seconds + (0.0 if since is None else time.perf_counter() - since)

    def account(self) -> RunCost:
        """The costs of the run so far."""
        with self._lock:
            return RunCost.of([*self._earlier, self._current()])

    def _current(self) -> Attempt:
        spent, model = dataclasses.replace(self._spent), self._model
        attempt = dataclasses.replace(
            self._attempt,
            evaluation_seconds=self._evaluation_seconds(),
            gpu_joules=self._gpu_energy.joules(),
            processor_joules=self._processor_energy.joules(),
            **dataclasses.asdict(spent),
        )
        if model is None:
            return attempt
        return dataclasses.replace(
            attempt,
            flops=model.training_flops(source_tokens=spent.source_tokens, target_tokens=spent.target_tokens),
        )

    @contextmanager
    def counting(self) -> Iterator[None]:
        """Keep the file up to date during the block; it remains afterwards."""
        thread = threading.Thread(target=self._write_periodically, name="cost", daemon=True)
        self._write()
        thread.start()
        try:
            yield
        finally:
            self._is_over.set()
            thread.join()

    def _write_periodically(self) -> None:
        while not self._is_over.wait(self._write_seconds):
            try:
                self._write()
            except (OSError, UserError) as error:  # a full disk, which training itself reports
                logger.debug("the costs so far were not written: %s", error)

    def _write(self) -> None:
        files.require_folder(self._path.parent)
        files.write_text(self._path, json_text(dataclasses.asdict(self.account())))


def cost_meter(
    path: Path,
    config: CostConfig,
    *,
    earlier: Sequence[Attempt],
    started: str,
    device: torch.device,
    precision: str,
    group: ProcessGroup = ALONE,
) -> CostMeter | None:
    """The meter of an attempt begun at `started` (UTC, ISO 8601), on the first rank; all ranks must call this."""
    ranks = group.gather(own_device(device, precision=precision, probe_seconds=config.probe_seconds))
    if not group.is_leader:
        return None
    attempt = Attempt(
        started=started,
        devices=group_by_name(ranks),
        price_per_device_hour=config.price_per_device_hour,
        currency=config.currency,
    )
    uuids = [rank.uuid for rank in ranks if rank.uuid is not None]
    is_one_host = len({rank.host for rank in ranks}) == 1
    return CostMeter(path, earlier=earlier, attempt=attempt, gpus=uuids, is_one_host=is_one_host)
