"""What runs will cost, as documents for programs state it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from aiayn.config.schema import HardwareConfig


@dataclass(frozen=True)
class Plan:
    """The costs of one run."""

    experiment: str
    """The experiment."""
    seed: int
    """The seed."""
    overrides: tuple[str, ...]
    """The words of the command line."""
    data: str
    """The corpus, and where it comes from."""
    hardware: HardwareConfig
    """The devices."""
    devices: int
    """Processes on all nodes, one per device."""
    parameters: int
    """Trainable parameters."""
    steps: int
    """Optimizer steps; with patience, the largest number of them."""
    has_patience: bool
    """Whether training may end before its last step."""
    flops_per_step: float
    """Operations of a step on all devices together."""
    memory: int
    """Peak bytes of tensors on one device."""
    seconds_per_step: float
    """Wall time of a step with all devices; communication is not counted."""
    disk: int
    """Bytes of the checkpoints that are kept."""
    flops: float
    """Operations of the whole training."""
    seconds: float
    """Wall time of the whole training, without validation and final evaluation."""
    device_seconds: float
    """Seconds times devices, the unit of prices."""
    fits: bool
    """Whether a device's memory suffices, or is not stated."""

    @classmethod
    def read(cls, fields: Mapping[str, Any]) -> Self:
        """From plain values, as a job of a multirun returns it."""
        hardware = HardwareConfig(**fields["hardware"])
        return cls(**{**fields, "overrides": tuple(fields["overrides"]), "hardware": hardware})


@dataclass(frozen=True)
class PlanTotal:
    """The sums over runs."""

    runs: int
    """Number of runs."""
    flops: float
    """Operations."""
    seconds: float
    """Wall time, one run after the other."""
    device_seconds: float
    """Seconds times devices."""
    disk: int
    """Bytes of checkpoints."""

    @classmethod
    def of(cls, plans: Sequence[Plan]) -> Self:
        """The sums over the plans."""
        return cls(
            runs=len(plans),
            flops=sum(plan.flops for plan in plans),
            seconds=sum(plan.seconds for plan in plans),
            device_seconds=sum(plan.device_seconds for plan in plans),
            disk=sum(plan.disk for plan in plans),
        )
