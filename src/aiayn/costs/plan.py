"""What a run would cost, before there is one."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from aiayn.config.schema import HardwareConfig


@dataclass(frozen=True)
class Plan:
    """The costs of one run."""

    experiment: str
    seed: int
    overrides: tuple[str, ...]
    """The words that it was composed from."""
    data: str
    """The corpus, and where it comes from."""
    hardware: HardwareConfig
    devices: int
    """Processes on all nodes, one a device."""
    parameters: int
    """Numbers to learn."""
    steps: int
    """Optimizer steps."""
    flops_per_step: float
    """Of all devices together."""
    memory: int
    """Bytes of the tensors on one device, at the peak."""
    seconds_per_step: float
    """With every device at work; what they send each other is not counted."""
    disk: int
    """Bytes of the checkpoints that are kept."""

    @classmethod
    def read(cls, fields: Mapping[str, Any]) -> Self:
        """From plain values, as a job of a multirun hands it over."""
        hardware = HardwareConfig(**fields["hardware"])
        return cls(**{**fields, "overrides": tuple(fields["overrides"]), "hardware": hardware})

    @property
    def flops(self) -> float:
        """Of the whole training."""
        return self.steps * self.flops_per_step

    @property
    def seconds(self) -> float:
        """Of the whole training; validation and the final search are not counted."""
        return self.steps * self.seconds_per_step

    @property
    def device_seconds(self) -> float:
        """What is paid for."""
        return self.seconds * self.devices

    @property
    def fits(self) -> bool:
        """Whether a device's memory suffices, as far as it is known."""
        return self.hardware.memory_gib is None or self.memory <= self.hardware.memory_gib * 2**30
