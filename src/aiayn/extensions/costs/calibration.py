"""Measure training steps on this machine, on random tokens."""

import logging
import time
from contextlib import nullcontext
from statistics import median
from typing import Any

import torch
from torch import Tensor

from aiayn.builders.models import create_model, device_of
from aiayn.config.model_schema import ModelConfig
from aiayn.errors import UserError
from aiayn.extensions.costs.schema import PlanConfig
from aiayn.flat_tokens import FlatTokens
from aiayn.models.translation_model import TranslationModel, count_parameters
from aiayn.system.allocator import keep_memory
from aiayn.system.caching import cached_by_repr
from aiayn.system.gpu import configure_gpus
from aiayn.system.progress import Bar
from aiayn.system.resource_errors import memory_errors_explained
from aiayn.training.loss import output_losses

logger = logging.getLogger("aiayn")

SENTENCE_LENGTH = 25
"""Tokens per sentence; translation corpora average 15 to 30."""

MAX_TOKENS_ON_CPU = 1024
"""Per side of a measured micro-batch on a CPU: more is hardly more efficient and can take minutes."""

MIN_STEPS = 2
"""At least this many steps are measured, after one warm-up step."""


def seconds_per_step(
    config: PlanConfig, *, vocabulary_size: int, source_tokens: int, target_tokens: int, count: int
) -> float:
    """Wall time of one optimizer step of `count` micro-batches, if every device is as fast as this one.

    The tokens are those of one micro-batch. `vocabulary_size` are rows of the embedding matrix.

    Raises:
        UserError: the trainer's device is not on this machine.
        RunFailedError: out of memory.
    """
    device = device_of(config)
    if device.type == "cpu" and config.trainer.get("accelerator") in ("gpu", "cuda"):
        raise UserError(
            f"trainer.accelerator={config.trainer['accelerator']}: no GPU here to measure on; name one, as in "
            "hardware=a100, or state hardware.peak_flops and hardware.utilization"
        )
    if config.launch.keep_allocator_memory:
        keep_memory()
    configure_gpus(tf32=config.launch.tf32)
    precision = str(config.trainer.get("precision"))
    is_half = precision not in ("32", "32-true") and (device.type == "cuda" or precision != "auto")
    limit = MAX_TOKENS_ON_CPU if device.type == "cpu" else max(source_tokens, target_tokens)
    share = min(1.0, limit / max(source_tokens, target_tokens))
    assert config.hardware.calibration_seconds is not None
    with memory_errors_explained("optimization.max_tokens_per_device"):
        passes, update = _measured(
            config.model,
            vocabulary_size,
            sentences=max(1, round(share * max(source_tokens, target_tokens) / SENTENCE_LENGTH)),
            target_length=max(1, round(SENTENCE_LENGTH * target_tokens / source_tokens)),
            device=device,
            is_half=is_half,
            seconds=config.hardware.calibration_seconds,
        )
    return passes / share * count + update


@cached_by_repr
def _measured(
    config: ModelConfig,
    vocabulary_size: int,
    *,
    sentences: int,
    target_length: int,
    device: torch.device,
    is_half: bool,
    seconds: float,
) -> tuple[float, float]:
    """Median seconds of forward and backward passes, and of Adam's update; cached by arguments."""
    trained = create_model(config, rows=vocabulary_size).to(device).train()
    logger.info("measuring %s parameters on %s", f"{count_parameters(trained):,}", device)
    optimizer = torch.optim.Adam(trained.parameters(), lr=1e-9, fused=True)
    source, target = (
        FlatTokens.of(torch.randint(1, vocabulary_size, (sentences, length)).tolist()).to(device)
        for length in (SENTENCE_LENGTH, target_length)
    )
    passes: list[float] = []
    updates: list[float] = []
    with Bar("measure", total=round(seconds), unit=" s") as bar:
        while len(passes) <= MIN_STEPS or sum(passes) + sum(updates) < seconds:
            started = _now(device)
            with torch.autocast(device.type, torch.bfloat16) if is_half else nullcontext():
                loss = _loss(trained, source, target)
            torch.autograd.backward(loss)
            backward_done = _now(device)
            optimizer.step()
            optimizer.zero_grad()
            passes.append(backward_done - started)
            updates.append(_now(device) - backward_done)
            bar.reach(min(round(seconds), int(sum(passes) + sum(updates))))
    return median(passes[1:]), median(updates[1:])


def _loss(model: TranslationModel[Any], source: FlatTokens, target: FlatTokens) -> Tensor:
    states, weight, bias = model.states(source, target), model.output_weight, model.output_bias
    return output_losses(states, weight, target.ids, label_smoothing=0.1, bias=bias).smoothed


def _now(device: torch.device) -> float:
    """The time after the device has finished its queued work."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter()
