"""The sizes of a run's model and of its batches; torch is imported only where a cost has no closed form."""

import math
from functools import cache
from typing import TypeAlias

from aiayn.config.model_schema import ConvolutionalConfig, ModelConfig, RecurrentConfig, TransformerConfig
from aiayn.config.schema import TrainConfig
from aiayn.errors import UserError
from aiayn.models.architecture import Architecture
from aiayn.models.baselines.convolutional_architecture import ConvolutionalArchitecture
from aiayn.models.baselines.recurrent_architecture import RecurrentArchitecture
from aiayn.models.cost import ModelCost, has_closed_form, transformer_cost

AnyArchitecture: TypeAlias = Architecture | RecurrentArchitecture | ConvolutionalArchitecture


def build_architecture(config: ModelConfig) -> Architecture:
    """What distinguishes one Transformer from others, but for its vocabulary."""
    assert isinstance(config, TransformerConfig)
    return Architecture(
        d_model=config.d_model,
        d_ff=config.d_ff,
        num_layers=config.num_layers,
        num_heads=config.num_heads,
        d_k=config.d_k,
        d_v=config.d_v,
        dropout=config.dropout,
        attention_dropout=config.attention_dropout,
        activation_dropout=config.activation_dropout,
        attention=config.attention.value,
        neighbourhood=config.neighbourhood,
        positions=config.positions.value,
        norm=config.norm.value,
        normalization=config.normalization.value,
        residual=config.residual,
        tied_embeddings=config.tied_embeddings,
        reads_bos=config.reads_bos,
        projection_bias=config.projection_bias,
        layer_norm_epsilon=config.layer_norm_epsilon,
        max_positions=config.max_positions,
    )


def build_recurrent_architecture(config: RecurrentConfig) -> RecurrentArchitecture:
    """What distinguishes one recurrent model from others, but for its vocabulary."""
    return RecurrentArchitecture(
        d_model=config.d_model,
        num_layers=config.num_layers,
        cell=config.cell.value,
        attention=config.attention.value,
        dropout=config.dropout,
    )


def build_convolutional_architecture(config: ConvolutionalConfig) -> ConvolutionalArchitecture:
    """What distinguishes one convolutional model from others, but for its vocabulary."""
    return ConvolutionalArchitecture(
        d_model=config.d_model,
        num_layers=config.num_layers,
        kernel_size=config.kernel_size,
        dropout=config.dropout,
        max_positions=config.max_positions,
    )


def architecture_of(config: ModelConfig) -> AnyArchitecture:
    """The same for a model of any kind."""
    if isinstance(config, RecurrentConfig):
        return build_recurrent_architecture(config)
    if isinstance(config, ConvolutionalConfig):
        return build_convolutional_architecture(config)
    return build_architecture(config)


def model_cost(config: ModelConfig, *, vocabulary_size: int) -> ModelCost:
    """The cost of training a model: in closed form for the paper's Transformer, counted by torch for others.

    Args:
        config: of the model.
        vocabulary_size: rows of the embedding matrix.
    """
    architecture = architecture_of(config)
    if isinstance(architecture, Architecture) and has_closed_form(architecture):
        return transformer_cost(architecture, vocabulary_size=vocabulary_size)
    return _measured(architecture, vocabulary_size)


@cache
def _measured(architecture: AnyArchitecture, vocabulary_size: int) -> ModelCost:
    from aiayn.builders.training import made_model  # imports torch
    from aiayn.models.measured_cost import measured_cost

    return measured_cost(lambda rows: made_model(architecture, rows=rows), vocabulary_size=vocabulary_size)


def embedding_rows(config: ModelConfig, *, vocabulary_size: int) -> int:
    """Rows of the embedding matrix.

    Args:
        config: may ask for more rows than are used.
        vocabulary_size: entries of the vocabulary.

    Raises:
        UserError: it asks for fewer.
    """
    rows = vocabulary_size if config.vocabulary_rows is None else config.vocabulary_rows
    if rows < vocabulary_size:
        raise UserError(
            f"model.vocabulary_rows={rows}: the vocabulary has {vocabulary_size} entries; state at least that"
        )
    return rows


def accumulation(config: TrainConfig, *, world_size: int) -> int:
    """Micro-batches a rank makes for one optimizer step, so that each fits the device's budget."""
    tokens = max(config.optimization.source_tokens, config.optimization.target_tokens)
    return max(1, math.ceil(tokens / (config.optimization.max_tokens_per_device * world_size)))
