"""The sizes of a run's model and of its batches; nothing here needs a tensor library."""

import math

from aiayn.config.model_schema import ConvolutionalConfig, ModelConfig, RecurrentConfig, TransformerConfig
from aiayn.config.schema import TrainConfig
from aiayn.errors import UserError
from aiayn.models.architecture import Architecture
from aiayn.models.baselines.convolutional_architecture import ConvolutionalArchitecture
from aiayn.models.baselines.costs import ConvolutionalCost, RecurrentCost
from aiayn.models.baselines.recurrent_architecture import RecurrentArchitecture
from aiayn.models.cost import Cost, ModelCost


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


def architecture_of(config: ModelConfig) -> Architecture | RecurrentArchitecture | ConvolutionalArchitecture:
    """The same for a model of any kind."""
    if isinstance(config, RecurrentConfig):
        return build_recurrent_architecture(config)
    if isinstance(config, ConvolutionalConfig):
        return build_convolutional_architecture(config)
    return build_architecture(config)


def model_cost(config: ModelConfig, *, vocabulary_size: int) -> ModelCost:
    """What training the model takes; it is not built.

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
