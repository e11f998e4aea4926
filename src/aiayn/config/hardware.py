"""The devices that conf/hardware/ states, found by what torch calls them; nothing is composed for it."""

import re
from dataclasses import dataclass
from functools import cache

import yaml

from aiayn.config.store import conf_directory


@dataclass(frozen=True)
class StatedDevice:
    """What is stated of a device, per second and at most."""

    name: str
    """Of the option, as in A100."""
    single_flops: float
    """In single precision."""
    half_flops: float | None
    """In half precision; None: not stated."""


@cache
def stated_device(reported: str) -> StatedDevice | None:
    """The device that torch calls so, or None: a part of one, such as a MIG slice, has another name and is none.

    Args:
        reported: as in "NVIDIA A100-SXM4-80GB".
    """
    for path in sorted((conf_directory() / "hardware").glob("*.yaml")):
        stated = yaml.safe_load(path.read_text(encoding="utf-8"))
        pattern = stated["reported_as"]
        if pattern is not None and re.fullmatch(pattern, reported):
            half = stated["half_flops"]
            return StatedDevice(stated["name"], float(stated["single_flops"]), None if half is None else float(half))
    return None
