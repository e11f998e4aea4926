"""Devices of conf/hardware/, found by torch's name for them, without composing a configuration."""

import re
from dataclasses import dataclass
from functools import cache

import yaml

from aiayn.config.store import conf_directory


@dataclass(frozen=True)
class StatedDevice:
    """A device of conf/hardware/ and its peaks in operations per second."""

    name: str
    single_flops: float
    half_flops: float | None


@cache
def stated_device(reported: str) -> StatedDevice | None:
    """The device that torch calls `reported`, as in "NVIDIA A100-SXM4-80GB"; None for others, such as MIG slices."""
    for path in sorted((conf_directory() / "hardware").glob("*.yaml")):
        stated = yaml.safe_load(path.read_text(encoding="utf-8"))
        pattern, half = stated["reported_as"], stated["half_flops"]
        if pattern is not None and re.fullmatch(pattern, reported):
            return StatedDevice(stated["name"], float(stated["single_flops"]), None if half is None else float(half))
    return None
