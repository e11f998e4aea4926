"""The costs of a run before it is started."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from aiayn.builders.cost import model_cost
from aiayn.builders.sizes import accumulation, embedding_rows
from aiayn.config.data_schema import (
    DataConfig,
    GrammarDataConfig,
    HubDataConfig,
    TextFilesDataConfig,
    ToyTreesDataConfig,
    TreesDataConfig,
)
from aiayn.config.schema import TrainConfig
from aiayn.errors import UserError
from aiayn.extensions.costs.schema import PlanConfig
from aiayn.models.cost import HALF, SINGLE, ValueBytes
from aiayn.runs.plan import Plan
from aiayn.system import processes

BYTES_OF_CHECKPOINT = 12
"""Per parameter: the weight and Adam's two moments, in single precision."""

BYTES_OF_WEIGHTS = 4
"""Per parameter of weights that are kept for averaging."""


@dataclass(frozen=True)
class MicroBatch:
    """The tokens that one device computes at once."""

    source_tokens: int
    target_tokens: int
    count: int
    """Per optimizer step on each device."""


def plan_run(config: PlanConfig, *, overrides: Sequence[str] = ()) -> Plan:
    """The cost of a run, timed by the stated hardware or on this machine; UserError if neither is possible."""
    rows = embedding_rows(config.model, vocabulary_size=config.tokenizer.vocabulary_size)
    model = model_cost(config.model, vocabulary_size=rows)
    devices = processes.all_devices(config.trainer)
    recipe = config.optimization
    flops = model.training_flops(source_tokens=recipe.source_tokens, target_tokens=recipe.target_tokens)
    micro = micro_batch(config, devices=devices)
    memory = model.training_bytes(
        source_tokens=micro.source_tokens, target_tokens=micro.target_tokens, of=_value_bytes(config)
    )
    seconds_per_step = _seconds_per_step(config, rows, flops=flops, micro=micro, devices=devices)
    seconds, limit = recipe.max_steps * seconds_per_step, config.hardware.memory_gib
    averaged = config.averaging.checkpoints + 2 if config.averaging.checkpoints else 0  # and a new one, and the mean
    return Plan(
        experiment=config.identity.experiment,
        seed=config.seed,
        overrides=tuple(overrides),
        data=describe_corpus(config.data),
        hardware=config.hardware,
        devices=devices,
        parameters=model.parameters,
        steps=recipe.max_steps,
        has_patience=recipe.patience is not None,
        flops_per_step=flops,
        memory=memory,
        seconds_per_step=seconds_per_step,
        disk=model.parameters * (BYTES_OF_CHECKPOINT * _checkpoints(config) + BYTES_OF_WEIGHTS * averaged),
        flops=recipe.max_steps * flops,
        seconds=seconds,
        device_seconds=seconds * devices,
        fits=limit is None or memory <= limit * 2**30,
    )


def describe_corpus(data: DataConfig) -> str:
    """The name of a corpus and where its text comes from."""
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


def micro_batch(config: TrainConfig, *, devices: int) -> MicroBatch:
    """The share of one device in a step's tokens."""
    count = accumulation(config, world_size=devices)
    source, target = (
        math.ceil(tokens / (count * devices))
        for tokens in (config.optimization.source_tokens, config.optimization.target_tokens)
    )
    return MicroBatch(source_tokens=source, target_tokens=target, count=count)


def _seconds_per_step(config: PlanConfig, rows: int, *, flops: float, micro: MicroBatch, devices: int) -> float:
    hardware = config.hardware
    if hardware.calibration_seconds is not None:
        from aiayn.extensions.costs.calibration import seconds_per_step  # imports torch

        return seconds_per_step(
            config,
            vocabulary_size=rows,
            source_tokens=micro.source_tokens,
            target_tokens=micro.target_tokens,
            count=micro.count,
        )
    utilization, peak = _stated("utilization", hardware.utilization), _stated("peak_flops", hardware.peak_flops)
    return flops / (devices * peak * utilization)


def _stated(key: str, value: float | None) -> float:
    if value is None:
        raise UserError(f"hardware.{key}=null: state a number above 0, or measure with hardware=here")
    return value


def _value_bytes(config: PlanConfig) -> ValueBytes:
    """Bytes per value in the precision that the device would use."""
    accelerator, precision = config.trainer.get("accelerator"), str(config.trainer.get("precision"))
    is_on_cpu = accelerator == "cpu" or (accelerator == "auto" and config.hardware.calibration_seconds is not None)
    is_single = precision in ("32", "32-true") or (precision == "auto" and accelerator == "auto")
    return SINGLE if is_on_cpu or is_single else HALF


def _checkpoints(config: TrainConfig) -> int:
    """The number of checkpoints that a run keeps, with the one being written."""
    kept = 1
    for callback in config.callbacks.values():
        if isinstance(callback, dict) and str(callback.get("_target_", "")).endswith("ModelCheckpoint"):
            count = int(callback.get("save_top_k", 1))
            kept += count if count >= 0 else config.optimization.max_steps // config.optimization.checkpoint_interval
    return kept
