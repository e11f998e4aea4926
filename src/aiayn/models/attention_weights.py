"""How much every position attends to every other (section 3.2.1): what the fused attention of the model never holds."""

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from aiayn.models.attention import CrossAttention, SelfAttention
from aiayn.models.transformer import Transformer


class AttentionWeights(NamedTuple):
    """softmax(Q K^T / sqrt(d_k)) of every layer and head; a row sums to 1, or is 0 where the query is a pad."""

    encoder: Tensor
    """Source to source, `[num_layers, batch, num_heads, source_len, source_len]`."""
    decoder: Tensor
    """Target to target, `[num_layers, batch, num_heads, target_len, target_len]`: 0 above the diagonal."""
    cross: Tensor
    """Target to source, `[num_layers, batch, num_heads, target_len, source_len]`."""


@torch.no_grad()
def attention_weights(model: Transformer, source: Tensor, target_input: Tensor) -> AttentionWeights:
    """The weights with which the model reads a batch.

    The model runs as it always does; each attention is asked for its weights with the arguments that it was called
    with. So they are those of any architecture, and nothing here knows how layers are put together.

    Args:
        model: in evaluation mode.
        source: int64 `[batch, source_len]`, pads at the end.
        target_input: int64 `[batch, target_len]`, the target shifted right behind bos, pads at the end.
    """
    assert not model.training, "dropout would show: call eval() first"
    found: dict[nn.Module, Tensor] = {}

    def watch(attention: nn.Module, arguments: tuple[Any, ...], keywords: dict[str, Any], _: Tensor) -> None:
        assert isinstance(attention, SelfAttention | CrossAttention)
        found[attention] = attention.weights(*arguments, **keywords)

    attentions = [each for each in model.modules() if isinstance(each, SelfAttention | CrossAttention)]
    hooks = [each.register_forward_hook(watch, with_kwargs=True) for each in attentions]
    try:
        model.decode(target_input, model.encode(source))
    finally:
        for hook in hooks:
            hook.remove()

    def stacked(stack: nn.ModuleList, name: str, queries: Tensor) -> Tensor:
        is_real = (queries != model.pad_id)[:, None, :, None]
        return torch.stack([found[layer.get_submodule(name)] for layer in stack]) * is_real

    return AttentionWeights(
        encoder=stacked(model.encoder, "self_attention", source),
        decoder=stacked(model.decoder, "self_attention", target_input),
        cross=stacked(model.decoder, "cross_attention", target_input),
    )
