"""The devices of a run: names and operations per second, as the paper or the maker states them, or as measured."""

import os
import re
import time
from collections import defaultdict
from collections.abc import Sequence
from functools import cache
from statistics import fmean
from typing import Any, NamedTuple

import torch
from omegaconf import OmegaConf

from aiayn.config.schema import HardwareConfig
from aiayn.config.store import conf_directory
from aiayn.models.kernels.matmul import linear
from aiayn.paper.recipe import load_recipe
from aiayn.runs.cost import Basis, Devices
from aiayn.runs.hardware import processor

PROBED_ROWS, PROBED_WIDTH, PROBED_COLUMNS = 1024, 512, 2048
"""Matrix product by which a processor is measured: base's first feed-forward layer."""


class OwnDevice(NamedTuple):
    """The device of one rank."""

    host: str
    uuid: str | None
    """Of a GPU, as in its driver."""
    devices: Devices


def own_device(device: torch.device, *, precision: str, probe_seconds: float) -> OwnDevice:
    """Describe the device of this rank; a processor is measured for `probe_seconds`, 0: not at all."""
    host = os.uname().nodename
    if device.type != "cuda":
        measured = product_flops(probe_seconds) if probe_seconds > 0 else None
        peak = measured if precision == "32-true" else None
        return OwnDevice(host, None, Devices(processor(), 1, measured, peak, Basis.measured if measured else None))
    name = torch.cuda.get_device_name(device)
    uuid = getattr(torch.cuda.get_device_properties(device), "uuid", None)
    return OwnDevice(host, None if uuid is None else f"GPU-{uuid}", gpu(name, precision=precision))


def gpu(name: str, *, precision: str) -> Devices:
    """One GPU at Lightning's `precision`: the paper's sustained rate, else the stated single-precision peak."""
    stated = stated_hardware(name)
    peak = None
    if stated is not None and precision == "32-true" and torch.get_float32_matmul_precision() == "highest":
        peak = stated.single_flops
    elif stated is not None and "16" in precision:
        peak = stated.half_flops
    words = name.replace("-", " ").split()
    for kind, sustained in load_recipe().hardware.sustained_flops.items():
        if any(word.rstrip("cmst") == kind for word in words):  # a K40m is a K40 without a fan
            return Devices(name, 1, sustained, peak, Basis.paper)
    return Devices(name, 1, stated.single_flops if stated else None, peak, Basis.stated if stated else None)


@cache
def stated_hardware(reported: str) -> HardwareConfig | None:
    """The device of conf/hardware/ that torch calls `reported`; None for others, such as MIG slices."""
    for path in sorted((conf_directory() / "hardware").glob("*.yaml")):
        stated: Any = OmegaConf.to_container(OmegaConf.load(path), resolve=True)
        if stated["reported_as"] and re.fullmatch(stated["reported_as"], reported):
            return HardwareConfig(**stated)
    return None


def product_flops(seconds: float) -> float:
    """The best single-precision operations per second of matrix products on this process's cores."""
    states, weight = torch.full((PROBED_ROWS, PROBED_WIDTH), 0.5), torch.full((PROBED_COLUMNS, PROBED_WIDTH), 0.5)
    taken: list[float] = []
    with torch.inference_mode():
        linear(states, weight)  # may compile
        while not taken or sum(taken) < seconds:
            started = time.perf_counter()
            linear(states, weight)
            taken.append(time.perf_counter() - started)
    return 2.0 * PROBED_ROWS * PROBED_WIDTH * PROBED_COLUMNS / min(taken)


def group_by_name(ranks: Sequence[OwnDevice]) -> tuple[Devices, ...]:
    """The devices of all ranks, grouped by name; measured rates are averaged."""
    groups: defaultdict[tuple[str, Basis | None], list[Devices]] = defaultdict(list)
    for rank in ranks:
        groups[rank.devices.name, rank.devices.basis].append(rank.devices)
    return tuple(
        Devices(
            name,
            len(group),
            None if group[0].sustained_flops is None else fmean(each.sustained_flops or 0.0 for each in group),
            None if group[0].peak_flops is None else fmean(each.peak_flops or 0.0 for each in group),
            basis,
        )
        for (name, basis), group in groups.items()
    )
