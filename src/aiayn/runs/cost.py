"""The cost of a run: an account of every attempt, and their sum."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Self

from aiayn.system.documents import read_as

JOULES_PER_KWH = 3.6e6


class Basis(StrEnum):
    """The source of a device's FLOP/s."""

    paper = "paper"
    """Footnote 5."""
    stated = "stated"
    """The maker's peak, as in conf/hardware/."""
    measured = "measured"
    """Matrix products before the run."""


@dataclass(frozen=True)
class Devices:
    """The devices of one kind of an attempt, one for each process; None: unknown."""

    name: str
    """Name of the device."""
    count: int
    """Number of devices of this kind."""
    sustained_flops: float | None = None
    """FLOP/s of one device in single precision, with which Table 2 multiplies."""
    peak_flops: float | None = None
    """Highest FLOP/s of one device in the run's precision."""
    basis: Basis | None = None
    """The source of `sustained_flops`; the peak is the maker's, or measured."""


@dataclass(frozen=True)
class Attempt:
    """The cost of one attempt at a run; None: unknown."""

    started: str | None
    """UTC, ISO 8601."""
    devices: tuple[Devices, ...]
    """The devices of the attempt."""
    price_per_device_hour: float | None = None
    """Price of one device for an hour; None if not stated."""
    currency: str = ""
    """Currency of the price; may be empty."""
    training_seconds: float = 0.0
    """Wall time of optimizer steps."""
    validation_seconds: float = 0.0
    """Wall time of validations between them."""
    evaluation_seconds: float = 0.0
    """Wall time of scoring dev and test at the end."""
    source_tokens: int = 0
    """Source tokens of the training steps."""
    target_tokens: int = 0
    """Target tokens of the training steps."""
    flops: float = 0.0
    """FLOPs of the forward and backward passes."""
    gpu_joules: float | None = None
    """Energy of the GPUs."""
    processor_joules: float | None = None
    """Energy of the host's processors, used by all its processes."""

    @property
    def count(self) -> int:
        """Number of devices."""
        return sum(devices.count for devices in self.devices)

    @property
    def fitting_seconds(self) -> float:
        """Training and its validations: the time with which Table 2 multiplies."""
        return self.training_seconds + self.validation_seconds

    @property
    def seconds(self) -> float:
        """Wall time without preparation."""
        return self.fitting_seconds + self.evaluation_seconds

    @property
    def sustained_flops(self) -> float | None:
        """FLOP/s of all devices in single precision."""
        return _known_sum(_times(devices.count, devices.sustained_flops) for devices in self.devices)

    @property
    def peak_flops(self) -> float | None:
        """Highest FLOP/s of all devices in the run's precision."""
        return _known_sum(_times(devices.count, devices.peak_flops) for devices in self.devices)

    @property
    def price(self) -> float | None:
        """In `currency`."""
        return _times(self.seconds * self.count / 3600, self.price_per_device_hour)


@dataclass(frozen=True)
class Total:
    """The sum of attempts; None means unknown, never 0."""

    training_seconds: float
    """Wall time of optimizer steps."""
    validation_seconds: float
    """Wall time of validations between them."""
    evaluation_seconds: float
    """Wall time of scoring dev and test at the end."""
    device_hours: float
    """Hours of training, validation and evaluation, times devices."""
    flops: float
    """Analytic FLOPs of training."""
    paper_flops: float | None
    """As in Table 2: wall time of training x devices x sustained FLOP/s in single precision."""
    mfu: float | None
    """Model FLOPs utilisation: analytic FLOP/s of training as a share of the devices' peak."""
    gpu_kwh: float | None
    """Energy of the GPUs in kWh."""
    processor_kwh: float | None
    """Energy of the hosts' processors in kWh."""
    price: float | None
    """Price in `currency`; None if an attempt has none, or there are several currencies."""
    currency: str | None
    """Currency of the price."""

    @classmethod
    def of(cls, attempts: Sequence[Attempt]) -> Self:
        """The sum of attempts of one run or of several."""
        timed = [attempt for attempt in attempts if attempt.seconds > 0]
        trained = [attempt for attempt in attempts if attempt.training_seconds > 0]
        prices = {attempt.currency for attempt in timed if attempt.price_per_device_hour is not None}
        currency = prices.pop() if len(prices) == 1 else None
        possible = _known_sum(_times(attempt.training_seconds, attempt.peak_flops) for attempt in trained)
        return cls(
            training_seconds=sum(attempt.training_seconds for attempt in attempts),
            validation_seconds=math.fsum(attempt.validation_seconds for attempt in attempts),
            evaluation_seconds=sum(attempt.evaluation_seconds for attempt in attempts),
            device_hours=sum(attempt.seconds * attempt.count for attempt in attempts) / 3600,
            flops=sum(attempt.flops for attempt in attempts),
            paper_flops=_known_sum(_times(attempt.fitting_seconds, attempt.sustained_flops) for attempt in timed),
            mfu=sum(attempt.flops for attempt in trained) / possible if possible else None,
            gpu_kwh=_kwh(attempt.gpu_joules for attempt in timed),
            processor_kwh=_kwh(attempt.processor_joules for attempt in timed),
            price=None if currency is None else _known_sum(attempt.price for attempt in timed),
            currency=currency,
        )


def _known_sum(values: Iterable[float | None]) -> float | None:
    """The sum; None without values, or if one of them is unknown."""
    every = list(values)
    known = [value for value in every if value is not None]
    return math.fsum(known) if known and len(known) == len(every) else None


def _kwh(joules: Iterable[float | None]) -> float | None:
    return _times(1 / JOULES_PER_KWH, _known_sum(joules))


def _times(factor: float, value: float | None) -> float | None:
    return None if value is None else factor * value


@dataclass(frozen=True)
class RunCost:
    """The account of a run in its record."""

    attempts: tuple[Attempt, ...]
    """The attempts in order; the last one may be under way."""
    total: Total
    """The sum of the attempts, computed anew when an account is read."""

    @classmethod
    def of(cls, attempts: Iterable[Attempt]) -> Self:
        """The account of some attempts."""
        every = tuple(attempts)
        return cls(every, Total.of(every))

    @classmethod
    def kept(cls, path: Path) -> Self | None:
        """The account in the file of a running or killed attempt, if there is one; UserError if it is damaged."""
        try:
            return cls.of(read_as(cls, path, remedy="remove it").attempts)
        except FileNotFoundError:
            return None
