"""Energy counters of drivers: NVML for NVIDIA's GPUs, Linux's powercap (RAPL) for processors.

They count for the whole device, whichever process uses it. A counter that cannot be read is omitted, never estimated.
"""

import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias, final

logger = logging.getLogger("aiayn")

POWERCAP = Path("/sys/class/powercap")
"""Linux's counters, readable only by root on most machines."""

Counter: TypeAlias = Callable[[], float]
"""Joules since an arbitrary time; OSError if it can no longer be read."""


@final
class Energy:
    """The sum of counters since construction; without counters, energy is unknown."""

    def __init__(self, counters: Sequence[Counter]) -> None:
        self._counters = counters
        self._joules: float | None = 0.0 if counters else None
        self._before = self._read()

    def joules(self) -> float | None:
        """Joules so far; None if unknown, or after a counter could not be read."""
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
            logger.info("energy is no longer counted: %s", error)
            return None


def processor_counters(root: Path = POWERCAP) -> list[Counter]:
    """A counter for each processor package, without its parts; empty if one cannot be read."""
    zones = {_name(zone): zone for zone in sorted(root.glob("*:*")) if zone.name.count(":") == 1}  # some occur twice
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
    """A zone of powercap; its counter wraps around, within an hour under load."""

    def __init__(self, zone: Path) -> None:
        self._zone = zone
        self._wraps = 0
        self._before = 0

    def joules(self) -> float:
        now = self._read("energy_uj")
        self._wraps += now < self._before
        self._before = now
        end = self._read("max_energy_range_uj") if self._wraps else 0
        return (self._wraps * end + now) / 1e6

    def _read(self, file: str) -> int:
        return int((self._zone / file).read_text(encoding="utf-8"))


def gpu_counters(uuids: Sequence[str]) -> list[Counter]:
    """A counter for each GPU, by its driver's UUID (GPU-...); empty if one cannot be read."""
    import pynvml  # only on machines with a GPU

    def counter(uuid: str) -> Counter:
        handle = pynvml.nvmlDeviceGetHandleByUUID(uuid)

        def joules() -> float:
            try:
                return float(pynvml.nvmlDeviceGetTotalEnergyConsumption(handle)) / 1e3  # from millijoules
            except pynvml.NVMLError as error:
                raise OSError(f"NVML: {error}") from error

        joules()
        return joules

    try:
        pynvml.nvmlInit()
        return [counter(uuid) for uuid in uuids]
    except (OSError, pynvml.NVMLError):
        return []
