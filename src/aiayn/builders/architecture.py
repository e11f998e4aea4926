"""The sizes of a run's model and of its batches; no tensor library is imported."""

import dataclasses
import math
from typing import TypeAlias

from aiayn.config.model_schema import ConvolutionalConfig, ModelConfig, RecurrentConfig, TransformerConfig
from aiayn.config.schema import TrainConfig
from aiayn.errors import UserError
from aiayn.models.architecture import Architecture, ConvolutionalArchitecture, RecurrentArchitecture
from aiayn.models.baselines.costs import ConvolutionalCost, RecurrentCost
from aiayn.models.cost import Cost, ModelCost

AnyArchitecture: TypeAlias = Architecture | RecurrentArchitecture | ConvolutionalArchitecture


ARCHITECTURES: dict[type[ModelConfig], type[AnyArchitecture]] = {
    TransformerConfig: Architecture,
    RecurrentConfig: RecurrentArchitecture,
    ConvolutionalConfig: ConvolutionalArchitecture,
}


def architecture_of(config: ModelConfig) -> AnyArchitecture:
    """The arguments of a model, but for its vocabulary: the fields of the configuration with the same names."""
    kind = ARCHITECTURES[type(config)]
    return kind(**{field.name: getattr(config, field.name) for field in dataclasses.fields(kind)})


def build_architecture(config: ModelConfig) -> Architecture:
    """The arguments of a Transformer."""
    architecture = architecture_of(config)
    assert isinstance(architecture, Architecture)
    return architecture


def model_cost(config: ModelConfig, *, vocabulary_size: int) -> ModelCost:
    """The cost of training a model; it is not built.

    Args:
        config: of the model.
        vocabulary_size: rows of the embedding matrix.
    """
    architecture = architecture_of(config)
    if isinstance(architecture, RecurrentArchitecture):
        return RecurrentCost(architecture, vocabulary_size)
    if isinstance(architecture, ConvolutionalArchitecture):
        return ConvolutionalCost(architecture, vocabulary_size)
    return Cost(architecture, vocabulary_size)


def embedding_rows(config: ModelConfig, *, vocabulary_size: int) -> int:
    """Rows of the embedding matrix.

    Args:
        config: of the model; `vocabulary_rows` may state more rows than entries.
        vocabulary_size: entries of the vocabulary.

    Raises:
        UserError: `vocabulary_rows` is smaller than the vocabulary.
    """
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
