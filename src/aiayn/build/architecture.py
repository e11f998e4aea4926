"""The sizes of a run's model and of its batches; nothing here needs a tensor library."""

import math

from aiayn.config.errors import UserError
from aiayn.config.schema import ModelConfig, TrainConfig
from aiayn.models.architecture import Architecture


def build_architecture(config: ModelConfig) -> Architecture:
    """What distinguishes the model from others, but for its vocabulary."""
    return Architecture(
        d_model=config.d_model,
        d_ff=config.d_ff,
        num_layers=config.num_layers,
        num_heads=config.num_heads,
        d_k=config.d_k,
        d_v=config.d_v,
        dropout=config.dropout,
        positions=config.positions.value,
        norm=config.norm.value,
        projection_bias=config.projection_bias,
        layer_norm_epsilon=config.layer_norm_epsilon,
        max_positions=config.max_positions,
    )


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
