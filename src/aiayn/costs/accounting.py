"""What a go costs, counted while it goes on and kept where a kill leaves it."""

import dataclasses
import logging
import os
import threading
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import fmean
from typing import NamedTuple, final

import torch

from aiayn.config.hardware import stated_device
from aiayn.config.schema import CostConfig
from aiayn.costs.energy import Energy, gpu_counters, processor_counters
from aiayn.models.cost import ModelCost
from aiayn.models.products import linear
from aiayn.paper.recipe import load_recipe
from aiayn.runs.cost import Attempt, Basis, Devices, RunCost
from aiayn.runs.provenance import processor
from aiayn.runs.record import json_text
from aiayn.system import files
from aiayn.training.meter import Spent
from aiayn.training.process_group import ALONE, ProcessGroup

logger = logging.getLogger("aiayn")

BEAT_SECONDS = 10.0
"""Between two looks at the clock: what a kill can leave uncounted."""

PROBED_ROWS, PROBED_WIDTH, PROBED_COLUMNS = 1024, 512, 2048
"""Of the products that a processor is measured by: base's first feed-forward layer."""


class OwnDevice(NamedTuple):
    """What one rank computes on."""

    host: str
    uuid: str | None
    """Of a GPU, as its driver has it."""
    devices: Devices


def own_device(device: torch.device, *, precision: str, probe_seconds: float) -> OwnDevice:
    """What this rank computes on; a processor is measured, if that takes any time at all.

    Args:
        device: of this rank.
        precision: as Lightning names it.
        probe_seconds: how long to measure; 0: not at all.
    """
    host = os.uname().nodename
    if device.type != "cuda":
        measured = product_flops(probe_seconds) if probe_seconds > 0 else None
        peak = measured if precision == "32-true" else None
        return OwnDevice(host, None, Devices(processor(), 1, measured, peak, Basis.measured if measured else None))
    name = torch.cuda.get_device_name(device)
    uuid = getattr(torch.cuda.get_device_properties(device), "uuid", None)
    return OwnDevice(host, None if uuid is None else f"GPU-{uuid}", gpu(name, precision=precision))


def gpu(name: str, *, precision: str) -> Devices:
    """One GPU: what the paper states that it sustains, else its maker's peak in single precision, if conf/ has it.

    Args:
        name: as torch has it.
        precision: as Lightning names it; the peak is of this precision.
    """
    words = name.replace("-", " ").split()
    stated = stated_device(name)
    peak = None
    if stated is not None and precision == "32-true" and torch.get_float32_matmul_precision() == "highest":
        peak = stated.single_flops
    elif stated is not None and "16" in precision:
        peak = stated.half_flops
    for kind, sustained in load_recipe().hardware.sustained_flops.items():
        if any(word.rstrip("cmst") == kind for word in words):  # a K40m is a K40 without a fan
            return Devices(name, 1, sustained, peak, Basis.paper)
    return Devices(name, 1, stated.single_flops if stated else None, peak, Basis.stated if stated else None)


def product_flops(seconds: float) -> float:
    """Operations in a second that products of matrices reach at best on this process's cores, in single precision."""
    states, weight = torch.full((PROBED_ROWS, PROBED_WIDTH), 0.5), torch.full((PROBED_COLUMNS, PROBED_WIDTH), 0.5)
    taken: list[float] = []
    with torch.inference_mode():
        linear(states, weight)  # compiles, where a library does
        while not taken or sum(taken) < seconds:
            started = time.perf_counter()
            linear(states, weight)
            taken.append(time.perf_counter() - started)
    return 2.0 * PROBED_ROWS * PROBED_WIDTH * PROBED_COLUMNS / min(taken)


def together(ranks: Sequence[OwnDevice]) -> tuple[Devices, ...]:
    """The devices of all ranks, those of one name together; what was measured is averaged."""
    alike: defaultdict[tuple[str, Basis | None], list[Devices]] = defaultdict(list)
    for rank in ranks:
        alike[rank.devices.name, rank.devices.basis].append(rank.devices)
    return tuple(
        Devices(
            name,
            len(each),
            None if each[0].sustained_flops is None else fmean(one.sustained_flops or 0.0 for one in each),
            None if each[0].peak_flops is None else fmean(one.peak_flops or 0.0 for one in each),
            basis,
        )
        for (name, basis), each in alike.items()
    )


@final
class CostMeter:
    """The account of a run to which an attempt is being added, on its first rank.

    Args:
        path: where it is kept meanwhile.
        earlier: the attempts before.
        attempt: this one, with nothing spent.
        gpus: UUIDs of its GPUs; empty where it has none, or where another host has some.
        is_one_host: whether all its processes are here: the energy of other hosts is not known.
    """

    def __init__(
        self,
        path: Path,
        *,
        earlier: Sequence[Attempt],
        attempt: Attempt,
        gpus: Sequence[str] = (),
        is_one_host: bool = True,
    ) -> None:
        self._path = path
        self._earlier = tuple(earlier)
        self._attempt = attempt
        self._gpu_energy = Energy(gpu_counters(gpus) if gpus and is_one_host else [])
        self._processor_energy = Energy(processor_counters() if is_one_host else [])
        self._spent = Spent()
        self._model: ModelCost | None = None
        self._evaluating_since: float | None = None
        self._lock = threading.Lock()
        self._is_over = threading.Event()

    def follow(self, spent: Spent, model: ModelCost) -> None:
        """Count what this counter of training counts, of this model."""
        self._spent, self._model = spent, model

    @contextmanager
    def evaluating(self) -> Iterator[None]:
        """Count the time of the block as that of evaluation."""
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
        """What the run has cost so far."""
        with self._lock:
            return RunCost.of([*self._earlier, self._present()])

    def _present(self) -> Attempt:
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
            padded_flops=model.training_flops(
                source_tokens=spent.padded_source_tokens, target_tokens=spent.padded_target_tokens
            ),
        )

    @contextmanager
    def counting(self) -> Iterator[None]:
        """Keep the account up to date in its file while the block lasts, and leave it there."""
        thread = threading.Thread(target=self._beat, name="cost", daemon=True)
        self._keep()
        thread.start()
        try:
            yield
        finally:
            self._is_over.set()
            thread.join()

    def _beat(self) -> None:
        while not self._is_over.wait(BEAT_SECONDS):
            try:
                self._keep()
            except OSError as error:  # a full disk: training itself will say so where it needs it
                logger.debug("the costs so far were not kept: %s", error)

    def _keep(self) -> None:
        files.write_text(self._path, json_text(self.account().plain()))


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
    """The meter of an attempt; all ranks take part, and the first one has it.

    Args:
        path: where the account is kept meanwhile.
        config: prices, and how long to measure.
        earlier: the attempts before.
        started: when this one began, UTC, ISO 8601.
        device: of this rank.
        precision: as Lightning names it.
        group: the ranks.
    """
    ranks = group.gather(own_device(device, precision=precision, probe_seconds=config.probe_seconds))
    if not group.is_leader:
        return None
    attempt = Attempt(
        started=started,
        devices=together(ranks),
        price_per_device_hour=config.price_per_device_hour,
        currency=config.currency,
    )
    uuids = [rank.uuid for rank in ranks if rank.uuid is not None]
    is_one_host = len({rank.host for rank in ranks}) == 1
    return CostMeter(path, earlier=earlier, attempt=attempt, gpus=uuids, is_one_host=is_one_host)
