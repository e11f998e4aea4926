"""What `trainer.devices` says."""

import re
from collections.abc import Mapping
from typing import Any

from aiayn.errors import UserError


def stated_devices(trainer: Mapping[str, Any]) -> int | list[int] | None:
    """A count, the indices of certain devices, or None for all there are.

    Raises:
        UserError: it is neither a count, nor a list, nor "auto".
    """
    devices = trainer.get("devices", 1)
    if isinstance(devices, str) and re.fullmatch(r"-?\d+", devices):
        devices = int(devices)
    if isinstance(devices, str) and re.fullmatch(r"\d+(\s*,\s*\d+)+,?|\d+,", devices):
        devices = [int(part) for part in devices.split(",") if part.strip()]
    if isinstance(devices, list) and devices:
        return devices
    if devices in ("auto", -1):
        return None
    if not isinstance(devices, int) or devices < 1:
        raise UserError(f"trainer.devices={devices}: state a number from 1, a list of devices, or auto")
    return devices
