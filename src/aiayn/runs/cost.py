"""What a run has cost: an account of every attempt, also of what a kill made vain, and their sum."""

import dataclasses
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Self

from aiayn.errors import UserError

JOULES_OF_A_KWH = 3.6e6


class Basis(StrEnum):
    """Where the operations of a device in a second come from."""

    paper = "paper"
    """Footnote 5 of the paper."""
    stated = "stated"
    """The maker's peak, as conf/hardware/ has it."""
    measured = "measured"
    """What products of matrices reached on it just before the run."""


@dataclass(frozen=True)
class Devices:
    """The devices of one kind that an attempt had, one a process."""

    name: str
    """As torch, or for processors the operating system, has it."""
    count: int
    sustained_flops: float | None = None
    """Operations of one in a second in single precision, as Table 2 multiplies with; None: not known."""
    peak_flops: float | None = None
    """Operations of one in a second, at most, in the run's precision; None: not known."""
    basis: Basis | None = None
    """Of the first of the two; the second is the maker's, or as measured."""


@dataclass(frozen=True)
class Attempt:
    """What one attempt at a run has cost; a run that was never stopped has had one."""

    started: str | None
    """UTC, ISO 8601."""
    devices: tuple[Devices, ...]
    price_per_device_hour: float | None = None
    currency: str = ""
    training_seconds: float = 0.0
    """Wall time of optimizer steps."""
    validation_seconds: float | None = 0.0
    """Wall time of validations between them; None in older records, where training holds it."""
    evaluation_seconds: float = 0.0
    """Wall time of scoring dev and test at the end."""
    source_tokens: int | None = 0
    """Trained on, without pads; these four are None in older records."""
    target_tokens: int | None = 0
    padded_source_tokens: int | None = 0
    """With them."""
    padded_target_tokens: int | None = 0
    flops: float = 0.0
    """Of the forward and backward passes over the tokens without pads."""
    padded_flops: float | None = 0.0
    """The same with pads, which some devices compute; None in older records."""
    gpu_joules: float | None = None
    """Energy of the GPUs; None: their driver does not tell."""
    processor_joules: float | None = None
    """Energy of the host's processors, whoever used them; None: the system does not tell."""

    @property
    def count(self) -> int:
        """Devices in all."""
        return sum(devices.count for devices in self.devices)

    @property
    def fitting_seconds(self) -> float:
        """Of training and its validations, which is the time that Table 2 multiplies with."""
        return self.training_seconds + (self.validation_seconds or 0.0)

    @property
    def seconds(self) -> float:
        """For which the devices were held, preparation aside."""
        return self.fitting_seconds + self.evaluation_seconds

    def flops_in_a_second(self, of: Callable[[Devices], float | None]) -> float | None:
        """A rate of all devices together; None where that of one is not known."""
        rates = [(of(devices), devices.count) for devices in self.devices]
        known = [rate * count for rate, count in rates if rate is not None]
        return sum(known) if len(known) == len(rates) else None


@dataclass(frozen=True)
class Total:
    """All attempts together; None is "not known", never 0."""

    training_seconds: float
    validation_seconds: float | None
    evaluation_seconds: float
    device_hours: float
    """Of training, validation and evaluation."""
    flops: float
    """Analytic operations of training, pads left out."""
    padded_flops: float | None
    """Analytic operations of training, pads counted."""
    paper_flops: float | None
    """As Table 2 has it: wall time of training x devices x what each sustains in single precision."""
    mfu: float | None
    """Model FLOPs utilisation: analytic operations in a second of training, as a share of the devices' peak."""
    gpu_kwh: float | None
    processor_kwh: float | None
    price: float | None
    currency: str | None

    @classmethod
    def of(cls, attempts: Sequence[Attempt]) -> Self:
        """The sum of attempts, of one run or of several."""
        timed = [attempt for attempt in attempts if attempt.seconds > 0]
        prices = {attempt.currency for attempt in timed if attempt.price_per_device_hour is not None}
        currency = prices.pop() if len(prices) == 1 else None
        return cls(
            training_seconds=sum(attempt.training_seconds for attempt in attempts),
            validation_seconds=_known_sum(attempt.validation_seconds for attempt in attempts),
            evaluation_seconds=sum(attempt.evaluation_seconds for attempt in attempts),
            device_hours=sum(attempt.seconds * attempt.count for attempt in attempts) / 3600,
            flops=sum(attempt.flops for attempt in attempts),
            padded_flops=_known_sum(attempt.padded_flops for attempt in attempts),
            paper_flops=_known_sum(_times(attempt.fitting_seconds, attempt, _sustained) for attempt in timed),
            mfu=_mfu([attempt for attempt in attempts if attempt.training_seconds > 0]),
            gpu_kwh=_kwh(attempt.gpu_joules for attempt in timed),
            processor_kwh=_kwh(attempt.processor_joules for attempt in timed),
            price=None if currency is None else _known_sum(_price(attempt) for attempt in timed),
            currency=currency,
        )

    def plain(self) -> dict[str, Any]:
        """As plain values."""
        return dataclasses.asdict(self)


def _known_sum(values: Iterable[float | None]) -> float | None:
    """The sum, or None where one of them, or all, are not known."""
    known: list[float] = []
    for value in values:
        if value is None:
            return None
        known.append(value)
    return math.fsum(known) if known else None


def _sustained(devices: Devices) -> float | None:
    return devices.sustained_flops


def _peak(devices: Devices) -> float | None:
    return devices.peak_flops


def _times(seconds: float, attempt: Attempt, of: Callable[[Devices], float | None]) -> float | None:
    rate = attempt.flops_in_a_second(of)
    return None if rate is None else seconds * rate


def _mfu(attempts: Sequence[Attempt]) -> float | None:
    if any(attempt.validation_seconds is None for attempt in attempts):
        return None  # their training time is not known by itself
    possible = _known_sum(_times(attempt.training_seconds, attempt, _peak) for attempt in attempts)
    return sum(attempt.flops for attempt in attempts) / possible if possible else None


def _kwh(joules: Iterable[float | None]) -> float | None:
    known = _known_sum(joules)
    return None if known is None else known / JOULES_OF_A_KWH


def _price(attempt: Attempt) -> float | None:
    price = attempt.price_per_device_hour
    return None if price is None else price * attempt.seconds * attempt.count / 3600


@dataclass(frozen=True)
class RunCost:
    """The account of a run, as its record holds it."""

    attempts: tuple[Attempt, ...]
    """In order; the last one may be under way."""
    total: Total = field(default_factory=lambda: Total.of(()))

    @classmethod
    def of(cls, attempts: Iterable[Attempt]) -> Self:
        """The account of these attempts."""
        every = tuple(attempts)
        return cls(every, Total.of(every))

    @classmethod
    def read(cls, content: Mapping[str, Any]) -> Self:
        """From plain values, as JSON has them; the sum is made anew.

        Raises:
            KeyError, TypeError, ValueError: they are no account.
        """
        return cls.of(_attempt(attempt) for attempt in content["attempts"])

    @classmethod
    def kept(cls, path: Path) -> Self | None:
        """What an attempt that is under way, or was killed, has left of its account; None where there is none.

        Raises:
            UserError: something else is there.
        """
        try:
            return cls.read(json.loads(path.read_text(encoding="utf-8")))
        except FileNotFoundError:
            return None
        except (KeyError, TypeError, ValueError) as error:
            raise UserError(f"{path}: not an account of costs ({error}); remove it") from None

    def plain(self) -> dict[str, Any]:
        """As plain values."""
        return dataclasses.asdict(self)


def _attempt(content: Mapping[str, Any]) -> Attempt:
    devices = tuple(
        Devices(**{**each, "basis": None if each["basis"] is None else Basis(each["basis"])})
        for each in content["devices"]
    )
    return Attempt(**{**content, "devices": devices})
