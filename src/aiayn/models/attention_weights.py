"""The weights of every attention (section 3.2.1), which the model's fused attention never stores."""

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from aiayn.flat_tokens import FlatTokens
from aiayn.models.kernels.padded_view import PaddedView
from aiayn.models.kernels.sentence_context import SentenceContext
from aiayn.models.multi_head_attention import CrossAttention, SelfAttention
from aiayn.models.transformer import Transformer


class OfEveryAttention(NamedTuple):
    """A number for every query and key, in every layer and head."""

    encoder: Tensor
    """`[num_layers, batch, num_heads, source_len, source_len]`."""
    decoder: Tensor
    """`[num_layers, batch, num_heads, target_len, target_len]`."""
    cross: Tensor
    """`[num_layers, batch, num_heads, target_len, source_len]`."""


def attention_weights(model: Transformer, source: FlatTokens, target_input: FlatTokens) -> OfEveryAttention:
    """softmax(Q K^T / sqrt(d_k)), or of the model's other scores; rows sum to 1, or are 0 at pads."""
    scores = attention_scores(model, source, target_input)
    own, other = (PaddedView(side.layout).is_token[:, None, :, None] for side in (source, target_input))
    return OfEveryAttention(
        *(torch.softmax(each, -1).where(real, 0.0) for each, real in zip(scores, (own, other, other), strict=True))
    )


@torch.no_grad()
def attention_scores(model: Transformer, source: FlatTokens, target_input: FlatTokens) -> OfEveryAttention:
    """The logits of every attention's softmax on a batch; -inf at hidden keys, undefined for queries at pads.

    The model runs as usual, and a hook computes each attention's scores from the arguments of its call, so this holds
    for any architecture.

    Args:
        model: in evaluation mode.
        source: the source sentences.
        target_input: the targets shifted right behind bos.
    """
    assert not model.training, "dropout would show: call eval() first"
    found: dict[nn.Module, Tensor] = {}

    def watch(attention: nn.Module, arguments: tuple[Any, ...], _: Tensor) -> None:
        assert isinstance(attention, SelfAttention | CrossAttention)
        context = arguments[1]
        assert isinstance(context, SentenceContext)
        query, seen = attention.heads(*arguments)
        found[attention] = context.scores(attention.function, query, seen)

    attentions = [each for each in model.modules() if isinstance(each, SelfAttention | CrossAttention)]
    hooks = [each.register_forward_hook(watch) for each in attentions]
    try:
        model.decode(target_input, model.encode(source))
    finally:
        for hook in hooks:
            hook.remove()

    def stacked(stack: nn.ModuleList, name: str) -> Tensor:
        return torch.stack([found[layer.get_submodule(name)] for layer in stack])

    return OfEveryAttention(
        encoder=stacked(model.encoder, "self_attention"),
        decoder=stacked(model.decoder, "self_attention"),
        cross=stacked(model.decoder, "cross_attention"),
    )
