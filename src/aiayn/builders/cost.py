"""The cost of training a run's model: of most Transformers in closed form, without a tensor library."""

from aiayn.config.model_schema import ModelConfig, TransformerConfig
from aiayn.models.cost import Kept, ModelCost
from aiayn.system.caching import cached_by_repr


def model_cost(config: ModelConfig, *, vocabulary_size: int) -> ModelCost:
    """The cost of training a model whose embedding matrix has `vocabulary_size` rows."""
    if isinstance(config, TransformerConfig) and has_closed_form(config):
        return transformer_cost(config, vocabulary_size=vocabulary_size)
    return _measured(config, vocabulary_size)


@cached_by_repr
def _measured(config: ModelConfig, vocabulary_size: int) -> ModelCost:
    from aiayn.builders.models import create_model  # imports torch
    from aiayn.models.measured_cost import measured_cost

    return measured_cost(lambda rows: create_model(config, rows=rows), vocabulary_size=vocabulary_size)


def has_closed_form(config: TransformerConfig) -> bool:
    """Whether `transformer_cost` covers the model; `measured_cost` covers all."""
    return (
        config.attention in ("scaled_dot", "dot")
        and config.positions in ("sinusoidal", "sinusoidal_blocks", "learned", "rotary", "none")
        and config.normalization == "layer"
        and config.tied_embeddings
    )


def transformer_cost(config: TransformerConfig, *, vocabulary_size: int) -> ModelCost:
    """The cost of a Transformer for which `has_closed_form` holds; `vocabulary_size` rows of embeddings."""
    assert has_closed_form(config)
    layers, width = config.num_layers, config.d_model
    keys, values = config.num_heads * config.d_k, config.num_heads * config.d_v
    attention = width * (2 * keys + 2 * values)
    feed_forward = 2 * width * config.d_ff
    is_dropped = config.activation_dropout > 0
    # ReLU works in place, and its gradient needs its output; dropout's result is another tensor.
    active = config.d_ff * (2 if config.activation == "swish" or is_dropped else 1)
    # Queries, keys, and sines and cosines of both.
    rotated = (2 * keys + 2 * config.d_k) * (config.positions == "rotary")
    # Source tokens pass the encoder's matrices, and the keys and values of cross-attention.
    source_weights = layers * (attention + feed_forward + width * (keys + values))
    target_weights = layers * (attention + feed_forward + width * (keys + values))
    norms = 2 * width * (5 * layers + 2 * (config.norm == "pre"))
    biases = 2 * layers * (config.d_ff + width) + 3 * layers * (2 * keys + values + width) * config.projection_bias
    positions = config.max_positions * width * (config.positions == "learned")
    vectors = vocabulary_size * config.output_bias + width * config.target_space_embedding
    embedding = vocabulary_size * width

    has_mask, inner_masks = config.dropout > 0, layers * config.d_ff * is_dropped
    # Of a sub-layer: the sum that is normalised, the result that the next product reads, and dropout's mask.
    ends = (2 * layers, 3 * layers)
    source_products = width + layers * (2 * width + 2 * keys + 2 * values + active + keys + values + rotated)
    target_products = width + layers * (3 * width + 3 * keys + 3 * values + active + rotated)
    source_kept, target_kept = (
        Kept(products, residuals=count * width, masks=(count + 1) * width * has_mask + inner_masks)
        for products, count in zip((source_products, target_products), ends, strict=True)
    )
    return ModelCost(
        parameters=source_weights + target_weights + norms + biases + positions + vectors + embedding,
        source_weights=source_weights,
        target_weights=target_weights + embedding,
        source_kept=source_kept,
        target_kept=target_kept,
        d_model=width,
        vocabulary_size=vocabulary_size,
    )
