"""The rows of a run's embedding matrix, and the micro-batches of its steps; no tensor library is needed for them."""

import math

from aiayn.config.model_schema import ModelConfig
from aiayn.config.schema import TrainConfig
from aiayn.errors import UserError


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
