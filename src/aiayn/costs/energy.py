"""Energy as drivers count it: NVIDIA's for GPUs, Linux's powercap (RAPL) for processors; nothing where neither tells.

Both count for the device as a whole, whoever uses it. A counter that cannot be read is left out, never estimated.
"""

import ctypes
import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeAlias, final

logger = logging.getLogger("aiayn")

POWERCAP = Path("/sys/class/powercap")
"""Where Linux shows its counters; they are root's alone on most machines."""

NVML = "libnvidia-ml.so.1"
"""Comes with NVIDIA's driver."""

Counter: TypeAlias = Callable[[], float]
"""Joules since some moment; OSError where it cannot be read any more."""


@final
class Energy:
    """What counters have counted since this was made.

    Args:
        counters: all of one kind; none: nothing is known.
    """

    def __init__(self, counters: Sequence[Counter]) -> None:
        self._counters = counters
        self._joules: float | None = 0.0 if counters else None
        self._before = self._read()

    def joules(self) -> float | None:
        """All together; None where there is no counter, or one has stopped telling."""
        now = self._read()
        if now is None or self._before is None or self._joules is None:
            self._joules = None
        else:
            self._joules += sum(after - before for before, after in zip(self._before, now, strict=True))
        self._before = now
        return self._joules

    def _read(self) -> list[float] | None:
        try:
            return [counter() for counter in self._counters]
        except OSError as error:
            logger.info("energy is not counted any more: %s", error)
            return None


def processor_counters(root: Path = POWERCAP) -> list[Counter]:
    """A counter for each processor package, without its parts; none where one cannot be read.

    Args:
        root: the folder of powercap.
    """
    zones = {_name(zone): zone for zone in sorted(root.glob("*:*")) if zone.name.count(":") == 1}  # some stand twice
    counters: list[Counter] = [_Package(zone).joules for name, zone in zones.items() if name.startswith("package")]
    try:
        for counter in counters:
            counter()
    except (OSError, ValueError):
        return []
    return counters


def _name(zone: Path) -> str:
    try:
        return (zone / "name").read_text(encoding="utf-8").strip()
    except OSError:
        return ""


class _Package:
    """A zone of powercap, whose counter begins anew when it has reached its end, within the hour under load."""

    def __init__(self, zone: Path) -> None:
        self._zone = zone
        self._rounds = 0
        self._before = 0

    def joules(self) -> float:
        now = self._micro("energy_uj")
        self._rounds += now < self._before
        self._before = now
        end = self._micro("max_energy_range_uj") if self._rounds else 0
        return (self._rounds * end + now) / 1e6

    def _micro(self, file: str) -> int:
        return int((self._zone / file).read_text(encoding="utf-8"))


def gpu_counters(uuids: Sequence[str], *, library: str = NVML) -> list[Counter]:
    """A counter for each GPU; none where the driver does not tell of one of them.

    Args:
        uuids: of the GPUs, as the driver has them: GPU-...
        library: NVIDIA's management library.
    """
    try:
        nvml: Any = ctypes.CDLL(library)
        _asked(nvml.nvmlInit_v2)
        counters = [_gpu_counter(nvml, uuid) for uuid in uuids]
        for counter in counters:
            counter()
    except (OSError, AttributeError):  # no such library, or one without these functions
        return []
    return counters


def _gpu_counter(nvml: Any, uuid: str) -> Counter:
    handle = ctypes.c_void_p()
    _asked(nvml.nvmlDeviceGetHandleByUUID, uuid.encode(), ctypes.byref(handle))

    def joules() -> float:
        millijoules = ctypes.c_ulonglong()
        _asked(nvml.nvmlDeviceGetTotalEnergyConsumption, handle, ctypes.byref(millijoules))
        return millijoules.value / 1e3

    return joules


def _asked(function: Any, *arguments: Any) -> None:
    code = function(*arguments)
    if code:
        raise OSError(code, f"{function.__name__} of NVML answers {code}")
