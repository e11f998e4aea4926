"""Models from their configuration, and the device of a process."""

from dataclasses import fields
from functools import partial
from inspect import signature
from typing import Any

import torch
from torch import nn

from aiayn.builders.sizes import embedding_rows
from aiayn.config.model_schema import ModelConfig, PluginConfig, TransformerConfig
from aiayn.config.schema import TrainConfig
from aiayn.config.trust import check_sources
from aiayn.errors import UserError
from aiayn.models.embeddings import Embeddings, TokenEmbedding
from aiayn.models.initialization import target_space
from aiayn.models.layers import FeedForward, Residual
from aiayn.models.multi_head_attention import CrossAttention, SelfAttention
from aiayn.models.transformer import Transformer
from aiayn.models.translation_model import TranslationModel
from aiayn.models.variants.attention import attention_function
from aiayn.models.variants.positions import RotaryPositions, positional_encoding
from aiayn.registry import added_models, named
from aiayn.system import processes
from aiayn.system.plugins import create
from aiayn.system.processes import stated_devices


def build_model(config: TrainConfig, *, vocabulary_size: int) -> TranslationModel[Any]:
    """The model with weights initialised from `seed`, for a vocabulary of this many entries.

    Raises:
        UserError: code of the user's own is missing, or differs from that with which the run began.
    """
    check_sources(config)
    rows = embedding_rows(config.model, vocabulary_size=vocabulary_size)
    torch.manual_seed(config.seed)
    return create_model(config.model, rows=rows)


def create_model(config: ModelConfig, *, rows: int) -> TranslationModel[Any]:
    """A model of any kind, initialised with torch's generator; `rows` of the embedding matrix."""
    if isinstance(config, TransformerConfig):
        return create_transformer(config, rows=rows)
    if isinstance(config, PluginConfig):
        given = {"d_model": config.d_model, "num_layers": config.num_layers, "dropout": config.dropout}
        given |= {"max_positions": config.max_positions, "vocabulary_size": rows}
        return create(config.target, key="model.target", base=TranslationModel, given=given, own=config.arguments)  # type: ignore[type-abstract]
    kind = named(added_models()[config.kind].model)
    takes, common = signature(kind).parameters, {each.name for each in fields(ModelConfig)}
    settings = {name: value for name, value in vars(config).items() if name in takes or name not in common}
    model: TranslationModel[Any] = kind(**settings, vocabulary_size=rows)
    return model


def create_transformer(config: TransformerConfig, *, rows: int) -> Transformer:
    """The paper's Transformer, with the parts that its configuration names; as `create_model`."""
    matrix = partial(TokenEmbedding, vocabulary_size=rows, d_model=config.d_model)
    function = partial(attention_function, config.attention, arguments=config.attention_arguments)
    heads: dict[str, Any] = {"function": function, "bias": config.projection_bias, "dropout": config.attention_dropout}
    rotary = RotaryPositions if config.positions == "rotary" else None
    normalize = partial(nn.LayerNorm if config.normalization == "layer" else nn.RMSNorm, eps=config.layer_norm_epsilon)
    is_pre, is_restricted = config.norm == "pre", config.attention == "restricted"
    return Transformer(
        vocabulary_size=rows,
        d_model=config.d_model,
        d_ff=config.d_ff,
        num_layers=config.num_layers,
        num_heads=config.num_heads,
        d_k=config.d_k,
        d_v=config.d_v,
        dropout=config.dropout,
        max_positions=config.max_positions,
        embeddings=Embeddings(
            matrix(),
            None if config.tied_embeddings else matrix(),
            None if config.tied_embeddings else matrix(),
            output_bias=nn.Parameter(torch.zeros(rows)) if config.output_bias else None,
            target_space=target_space(config.d_model) if config.target_space_embedding else None,
            decoder_start=config.decoder_start,
        ),
        positions=positional_encoding(
            config.positions,
            config.positions_arguments,
            max_positions=config.max_positions,
            d_model=config.d_model,
            offset=config.position_offset,
        ),
        self_attention=partial(SelfAttention, **heads, rotary=rotary),
        cross_attention=partial(CrossAttention, **heads),
        feed_forward=partial(FeedForward, activation=config.activation, dropout=config.activation_dropout),
        residual=partial(Residual, normalize=normalize, is_pre=is_pre, adds=config.residual),
        end_norm=normalize if is_pre else nn.Identity,
        reach=config.neighbourhood // 2 if config.neighbourhood and is_restricted else None,
    )


def device_of(config: TrainConfig, *, local_rank: int = 0) -> torch.device:
    """The device of one process of a run, the `local_rank`-th on its host; UserError without its GPU."""
    if config.trainer.get("accelerator") not in ("auto", "gpu", "cuda") or not torch.cuda.is_available():
        return torch.device("cpu")
    devices = stated_devices(config.trainer)
    index, count = devices[local_rank] if isinstance(devices, list) else local_rank, torch.cuda.device_count()
    if index >= count:
        if processes.group_size() > 1:
            raise UserError(
                f"trainer.devices={config.trainer.get('devices')}: torch finds {count} GPU{'s' if count > 1 else ''} "
                "here; lower trainer.devices"
            )
        index = 0  # of a run that is evaluated on a machine with fewer
    return torch.device("cuda", index)
