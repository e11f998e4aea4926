"""Models of every kind from their architectures."""

from functools import partial
from typing import Any

import torch
from torch import nn

from aiayn.models.architecture import AnyArchitecture, Architecture, PluginArchitecture
from aiayn.models.embeddings import Embeddings, TokenEmbedding
from aiayn.models.initialization import target_space
from aiayn.models.layers import FeedForward, Residual
from aiayn.models.multi_head_attention import CrossAttention, SelfAttention
from aiayn.models.transformer import Transformer
from aiayn.models.translation_model import TranslationModel
from aiayn.models.variants.attention import attention_function
from aiayn.models.variants.positions import RotaryPositions, positional_encoding
from aiayn.registry import added_models, named
from aiayn.system.plugins import create


def create_model(architecture: AnyArchitecture, *, rows: int) -> TranslationModel[Any]:
    """A model of any kind, initialised with torch's generator; `rows` of the embedding matrix."""
    if isinstance(architecture, PluginArchitecture):
        given = {**vars(architecture), "vocabulary_size": rows}
        target, own = given.pop("target"), given.pop("arguments")
        return create(target, key="model.target", base=TranslationModel, given=given, own=own)  # type: ignore[type-abstract]
    if isinstance(architecture, Architecture):
        return create_transformer(architecture, rows=rows)
    (kind,) = (each for each in added_models().values() if named(each.architecture) is type(architecture))
    model: TranslationModel[Any] = named(kind.model)(**vars(architecture), vocabulary_size=rows)
    return model


def create_transformer(shape: Architecture, *, rows: int) -> Transformer:
    """The paper's Transformer, with the parts that its architecture names; as `create_model`."""
    matrix = partial(TokenEmbedding, vocabulary_size=rows, d_model=shape.d_model)
    function = partial(attention_function, shape.attention, arguments=shape.attention_arguments)
    heads: dict[str, Any] = {"function": function, "bias": shape.projection_bias, "dropout": shape.attention_dropout}
    rotary = RotaryPositions if shape.positions == "rotary" else None
    normalize = partial(nn.LayerNorm if shape.normalization == "layer" else nn.RMSNorm, eps=shape.layer_norm_epsilon)
    is_pre, is_restricted = shape.norm == "pre", shape.attention == "restricted"
    return Transformer(
        vocabulary_size=rows,
        d_model=shape.d_model,
        d_ff=shape.d_ff,
        num_layers=shape.num_layers,
        num_heads=shape.num_heads,
        d_k=shape.d_k,
        d_v=shape.d_v,
        dropout=shape.dropout,
        max_positions=shape.max_positions,
        embeddings=Embeddings(
            matrix(),
            None if shape.tied_embeddings else matrix(),
            None if shape.tied_embeddings else matrix(),
            output_bias=nn.Parameter(torch.zeros(rows)) if shape.output_bias else None,
            target_space=target_space(shape.d_model) if shape.target_space_embedding else None,
            decoder_start=shape.decoder_start,
        ),
        positions=positional_encoding(
            shape.positions,
            shape.positions_arguments,
            max_positions=shape.max_positions,
            d_model=shape.d_model,
            offset=shape.position_offset,
        ),
        self_attention=partial(SelfAttention, **heads, rotary=rotary),
        cross_attention=partial(CrossAttention, **heads),
        feed_forward=partial(FeedForward, activation=shape.activation, dropout=shape.activation_dropout),
        residual=partial(Residual, normalize=normalize, is_pre=is_pre, adds=shape.residual),
        end_norm=normalize if is_pre else nn.Identity,
        reach=shape.neighbourhood // 2 if shape.neighbourhood and is_restricted else None,
    )
