"""How long a training step takes on this machine: a few are done, on random tokens."""

import logging
import time
from contextlib import nullcontext
from functools import cache
from statistics import median
from typing import Any, NamedTuple

import torch
from torch import Tensor

from aiayn.builders.training import device_of, made_model
from aiayn.config.schema import PlanConfig
from aiayn.errors import UserError
from aiayn.models.cost import ModelCost
from aiayn.models.translation_model import TranslationModel
from aiayn.system.allocator import keep_memory
from aiayn.system.progress import Bar
from aiayn.system.resource_errors import memory_errors_explained
from aiayn.training.loss import output_losses

logger = logging.getLogger("aiayn")

SENTENCE_LENGTH = 25
"""Tokens of a sentence; those of translation corpora have 15 to 30 on average."""

MOST_TOKENS_ON_CPU = 1024
"""On a side of a measured micro-batch there: more are hardly more efficient, and take minutes with a large model."""

LEAST_STEPS = 2
"""Measured ones, however long they take, after one that is not."""


class Timing(NamedTuple):
    """Medians, in seconds."""

    passes: float
    """Forward and backward, of one micro-batch."""
    update: float
    """Adam's."""


def seconds_per_step(
    config: PlanConfig, model: ModelCost, *, source_tokens: int, target_tokens: int, count: int
) -> float:
    """Wall time of one optimizer step, if every device does as well as the one here.

    Args:
        config: the run; `hardware.calibration_seconds` says how long to measure.
        model: what to measure.
        source_tokens: of one micro-batch, with pads.
        target_tokens: likewise.
        count: micro-batches of a step on one device.

    Raises:
        UserError: the trainer's device is not on this machine.
        RunFailedError: its memory does not suffice.
    """
    device = device_of(config)
    if device.type == "cpu" and config.trainer.get("accelerator") in ("gpu", "cuda"):
        raise UserError(
            f"trainer.accelerator={config.trainer['accelerator']}: no GPU here to measure on; name one, as in "
            "hardware=a100, or state hardware.peak_flops and hardware.utilization"
        )
    if config.launch.keep_allocator_memory:
        keep_memory()
    precision = str(config.trainer.get("precision"))
    is_half = precision not in ("32", "32-true") and (device.type == "cuda" or precision != "auto")
    most = MOST_TOKENS_ON_CPU if device.type == "cpu" else max(source_tokens, target_tokens)
    share = min(1.0, most / max(source_tokens, target_tokens))
    assert config.hardware.calibration_seconds is not None
    with memory_errors_explained("optimization.max_tokens_per_device"):
        timing = _measured(
            model,
            sentences=max(1, round(share * max(source_tokens, target_tokens) / SENTENCE_LENGTH)),
            target_length=max(1, round(SENTENCE_LENGTH * target_tokens / source_tokens)),
            device=device,
            is_half=is_half,
            seconds=config.hardware.calibration_seconds,
        )
    return timing.passes / share * count + timing.update


@cache
def _measured(
    model: ModelCost, *, sentences: int, target_length: int, device: torch.device, is_half: bool, seconds: float
) -> Timing:
    """Do steps until the time is over; a model that differs in nothing is measured once."""
    logger.info("measuring %s parameters on %s", f"{model.parameters:,}", device)
    trained = made_model(model.architecture, rows=model.vocabulary_size).to(device).train()
    optimizer = torch.optim.Adam(trained.parameters(), lr=1e-9, fused=True)
    source, target = (
        torch.randint(1, model.vocabulary_size, (sentences, length), device=device)
        for length in (SENTENCE_LENGTH, target_length)
    )
    passes: list[float] = []
    updates: list[float] = []
    with Bar("measure", total=round(seconds), unit=" s") as bar:
        while len(passes) <= LEAST_STEPS or sum(passes) + sum(updates) < seconds:
            started = _now(device)
            with torch.autocast(device.type, torch.bfloat16) if is_half else nullcontext():
                loss = _loss(trained, source, target)
            torch.autograd.backward(loss)
            between = _now(device)
            optimizer.step()
            optimizer.zero_grad()
            passes.append(between - started)
            updates.append(_now(device) - between)
            bar.reach(min(round(seconds), int(sum(passes) + sum(updates))))
    return Timing(median(passes[1:]), median(updates[1:]))


def _loss(model: TranslationModel[Any], source: Tensor, target: Tensor) -> Tensor:
    decoded = model.decode(target, model.encode(source))
    targets = decoded.packing.pack_targets(target, pad_id=model.pad_id)
    return output_losses(
        decoded.states, model.output_weight, targets, label_smoothing=0.1, ignored_id=model.pad_id
    ).smoothed


def _now(device: torch.device) -> float:
    """The time at which the device has done all that it was told to."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter()
