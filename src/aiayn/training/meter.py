"""Counters of a run: over all attempts, of this attempt, and between two log lines."""

import time
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from aiayn.evaluation.perplexity import perplexity


@dataclass
class Progress:
    """Counters over all attempts, kept in every checkpoint; tokens are real ones, over all ranks."""

    source_tokens: int = 0
    target_tokens: int = 0
    seconds: float = 0.0
    """Wall time of training, validation included."""
    first_loss: float | None = None
    """The first loss logged, the reference for divergence."""


@dataclass
class AttemptCounters:
    """Counters of this attempt, including steps repeated after a kill; tokens over all ranks."""

    source_tokens: int = 0
    target_tokens: int = 0
    training_seconds: float = 0.0
    """Without validation."""
    validation_seconds: float = 0.0


class Meter:
    """Sums losses on the device between two log lines, so that no step waits for it."""

    def __init__(self) -> None:
        self.reset(torch.device("cpu"))

    def reset(self, device: torch.device) -> None:
        """Start a new window."""
        self.losses = torch.zeros(2, dtype=torch.float64, device=device)
        self.source_tokens = 0
        self.target_tokens = 0
        self.timed_tokens = 0
        self.started = time.perf_counter()

    def add_losses(self, *, smoothed: Tensor, nll: Tensor) -> None:
        """Count one micro-batch of this rank; scalars, summed over target tokens."""
        self.losses += torch.stack([smoothed.detach(), nll.detach()]).to(self.losses.dtype)

    def add_step(self, *, source_tokens: int, target_tokens: int) -> None:
        """Count the tokens of an optimizer step, over all ranks."""
        self.source_tokens += source_tokens
        self.target_tokens += target_tokens
        self.timed_tokens += source_tokens + target_tokens

    def metrics(self, losses: Tensor) -> dict[str, float]:
        """The metrics of the window, from the sums `[2]` over all ranks; the speed omits restored steps."""
        smoothed, nll = losses.tolist()
        seconds = time.perf_counter() - self.started
        return {
            "train/loss": smoothed / self.target_tokens,
            "train/ppl": perplexity(np.array([nll]), np.array([self.target_tokens])),
            "train/tokens_per_second": self.timed_tokens / seconds,
        }

    def state(self, losses: Tensor) -> dict[str, float]:
        """The window as plain values for a checkpoint, from the sums `[2]` over all ranks."""
        smoothed, nll = losses.tolist()
        return {
            "smoothed": smoothed,
            "nll": nll,
            "source_tokens": self.source_tokens,
            "target_tokens": self.target_tokens,
        }

    def restore(self, state: dict[str, float], *, with_losses: bool) -> None:
        """Restore a window after `reset`; one rank takes the losses, which are sums over all ranks."""
        if with_losses:
            self.losses += self.losses.new_tensor([state["smoothed"], state["nll"]])
        self.source_tokens = int(state["source_tokens"])
        self.target_tokens = int(state["target_tokens"])
