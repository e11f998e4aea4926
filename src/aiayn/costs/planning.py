"""What a run would cost, before it is started."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from aiayn.builders.architecture import accumulation, embedding_rows, model_cost
from aiayn.config.data_schema import (
    DataConfig,
    GrammarDataConfig,
    HubDataConfig,
    TextFilesDataConfig,
    ToyTreesDataConfig,
    TreesDataConfig,
)
from aiayn.config.schema import PlanConfig, TrainConfig
from aiayn.costs.plan import Plan
from aiayn.errors import UserError
from aiayn.models.cost import HALF, SINGLE, ValueBytes
from aiayn.system import processes

BYTES_OF_CHECKPOINT = 12
"""Of a parameter: itself and Adam's two moments, in single precision."""

BYTES_OF_WEIGHTS = 4
"""Of a parameter where it is kept by itself, to be averaged."""


@dataclass(frozen=True)
class Micro:
    """What one device computes at once."""

    source_tokens: int
    target_tokens: int
    count: int
    """Micro-batches of one optimizer step on each device."""


def plan_run(config: PlanConfig, *, overrides: Sequence[str] = ()) -> Plan:
    """Count what a run costs; the time by the stated hardware, or measured on this machine.

    Args:
        config: as `aiayn train` would have it.
        overrides: the words that it was composed from.

    Raises:
        UserError: the hardware is not stated, or not to be found here.
    """
    rows = embedding_rows(config.model, vocabulary_size=config.tokenizer.vocabulary_size)
    model = model_cost(config.model, vocabulary_size=rows)
    devices = processes.devices_per_node(config.trainer) * int(config.trainer.get("num_nodes") or 1)
    recipe = config.optimization
    flops = model.training_flops(source_tokens=recipe.source_tokens, target_tokens=recipe.target_tokens)
    micro = micro_batch(config, devices=devices)
    memory = model.training_bytes(
        source_tokens=micro.source_tokens, target_tokens=micro.target_tokens, of=_value_bytes(config)
    )
    return Plan(
        experiment=config.identity.experiment,
        seed=config.seed,
        overrides=tuple(overrides),
        data=described(config.data),
        hardware=config.hardware,
        devices=devices,
        parameters=model.parameters,
        steps=recipe.max_steps,
        flops_per_step=flops,
        memory=memory,
        seconds_per_step=_seconds_per_step(config, rows, flops=flops, micro=micro, devices=devices),
        disk=model.parameters * (BYTES_OF_CHECKPOINT * _checkpoints(config) + BYTES_OF_WEIGHTS * _averaged(config)),
    )


def described(data: DataConfig) -> str:
    """A corpus by its name and where its text comes from."""
    match data:
        case GrammarDataConfig():
            origin = f"generated, {data.sentences:,} training pairs"
        case HubDataConfig():
            origin = f"data set {data.path}" + (f", {data.subset}" if data.subset else "")
        case TextFilesDataConfig():
            origin = f"{data.train.source} and {data.train.target}"
        case ToyTreesDataConfig():
            origin = f"generated, {data.sentences:,} training trees"
        case TreesDataConfig():
            origin = f"{data.train}" + (f" of {data.path}" if data.path else "")
            origin += f", and {data.silver}" if data.silver else ""
        case _:
            raise AssertionError(f"an unknown kind of corpus: {data.kind}")
    return f"{data.name} ({data.source_language}-{data.target_language}): {origin}"


def micro_batch(config: TrainConfig, *, devices: int) -> Micro:
    """How a step's tokens are shared out."""
    count = accumulation(config, world_size=devices)
    source, target = (
        math.ceil(tokens / (count * devices))
        for tokens in (config.optimization.source_tokens, config.optimization.target_tokens)
    )
    return Micro(source_tokens=source, target_tokens=target, count=count)


def _seconds_per_step(config: PlanConfig, rows: int, *, flops: float, micro: Micro, devices: int) -> float:
    hardware = config.hardware
    if hardware.calibration_seconds is not None:
        from aiayn.costs.calibration import seconds_per_step  # imports torch

        return seconds_per_step(
            config,
            vocabulary_size=rows,
            source_tokens=micro.source_tokens,
            target_tokens=micro.target_tokens,
            count=micro.count,
        )
    utilization = _stated("utilization", hardware.utilization)
    if utilization > 1:
        raise UserError(f"hardware.utilization={utilization}: a share of the peak is at most 1")
    return flops / (devices * _stated("peak_flops", hardware.peak_flops) * utilization)


def _stated(key: str, value: float | None) -> float:
    if value is None or value <= 0:
        raise UserError(f"hardware.{key}={value}: state a number above 0, or measure with hardware=here")
    return value


def _value_bytes(config: PlanConfig) -> ValueBytes:
    """What precision and device make of a value."""
    accelerator, precision = config.trainer.get("accelerator"), str(config.trainer.get("precision"))
    is_on_cpu = accelerator == "cpu" or (accelerator == "auto" and config.hardware.calibration_seconds is not None)
    is_single = precision in ("32", "32-true") or (precision == "auto" and accelerator == "auto")
    return SINGLE if is_on_cpu or is_single else HALF


def _checkpoints(config: TrainConfig) -> int:
    """How many checkpoints a run keeps at once, and the one that is being written."""
    kept = 1
    for callback in config.callbacks.values():
        if _is_checkpoint_callback(callback):
            count = int(callback.get("save_top_k", 1))
            kept += count if count >= 0 else config.optimization.max_steps // config.optimization.checkpoint_interval
    return kept


def _averaged(config: TrainConfig) -> int:
    """How many weights a run keeps to average, with the one that is being written, and their mean."""
    return config.averaging.checkpoints + 2 if config.averaging.checkpoints else 0


def _is_checkpoint_callback(callback: Any) -> bool:
    return isinstance(callback, dict) and str(callback.get("_target_", "")).endswith("ModelCheckpoint")
