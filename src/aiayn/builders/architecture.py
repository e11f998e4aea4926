"""The sizes of a run's model and of its batches; torch is imported only where a cost has no closed form."""

import dataclasses
import math
from functools import cache
from typing import Any

from aiayn.config.model_schema import ModelConfig, PluginConfig, TransformerConfig
from aiayn.config.schema import TrainConfig
from aiayn.errors import UserError
from aiayn.models.architecture import (
    AnyArchitecture,
    Architecture,
    Arguments,
    PluginArchitecture,
)
from aiayn.models.cost import ModelCost, has_closed_form, transformer_cost
from aiayn.registry import added_models, named

ARCHITECTURES: dict[type[ModelConfig], type[AnyArchitecture]] = {
    TransformerConfig: Architecture,
    PluginConfig: PluginArchitecture,
    **{named(each.schema): named(each.architecture) for each in added_models().values()},
}


def architecture_of(config: ModelConfig) -> AnyArchitecture:
    """The arguments of a model, but for its vocabulary: the fields of the configuration with the same names."""
    kind = ARCHITECTURES[type(config)]
    values: dict[str, Any] = {field.name: getattr(config, field.name) for field in dataclasses.fields(kind)}
    values |= {name: Arguments(value) for name, value in values.items() if isinstance(value, dict)}
    return kind(**values)


def model_cost(config: ModelConfig, *, vocabulary_size: int) -> ModelCost:
    """The cost of training a model: in closed form for the paper's Transformer, counted by torch for others."""
    architecture = architecture_of(config)
    if isinstance(architecture, Architecture) and has_closed_form(architecture):
        return transformer_cost(architecture, vocabulary_size=vocabulary_size)
    return _measured(architecture, vocabulary_size)


@cache
def _measured(architecture: AnyArchitecture, vocabulary_size: int) -> ModelCost:
    from aiayn.models.construction import create_model  # imports torch
    from aiayn.models.measured_cost import measured_cost

    return measured_cost(lambda rows: create_model(architecture, rows=rows), vocabulary_size=vocabulary_size)


def embedding_rows(config: ModelConfig, *, vocabulary_size: int) -> int:
    """Rows of the embedding matrix; UserError if fewer than the vocabulary has entries are stated."""
    rows = vocabulary_size if config.vocabulary_rows is None else config.vocabulary_rows
    if rows < vocabulary_size:
        raise UserError(
            f"model.vocabulary_rows={rows}: the vocabulary has {vocabulary_size} entries; state at least that"
        )
    return rows


def accumulation(config: TrainConfig, *, world_size: int) -> int:
    """Micro-batches of a rank for one optimizer step, so that each fits the device's budget."""
    tokens = max(config.optimization.source_tokens, config.optimization.target_tokens)
    return max(1, math.ceil(tokens / (config.optimization.max_tokens_per_device * world_size)))
