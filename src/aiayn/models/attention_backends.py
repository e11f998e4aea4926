"""Fast forms of equation 1 (`attention.attention`), chosen by device, type and attention function."""

import inspect
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from aiayn.flat_tokens import Layout
from aiayn.models.attention import attention
from aiayn.models.attention_functions import AttentionFunction, scores_of


def taken_kernel(kernel: Callable[..., Any]) -> Callable[..., Any] | None:
    """The kernel if it takes a scale and a window, as since torch 2.11; None otherwise."""
    return kernel if {"scale", "window_size"} <= {*inspect.signature(kernel).parameters} else None


varlen_attention: Callable[..., Any] | None
"""The kernel for flat tensors; None: torch has none that `flat_attention` can use."""
try:
    from torch.nn.attention.varlen import varlen_attn
except ImportError:
    varlen_attention = None
else:
    varlen_attention = taken_kernel(varlen_attn)

# cuDNN's attention builds a plan for each new shape, which takes longer than a training step; no two batches are alike.
torch.backends.cuda.enable_cudnn_sdp(False)

VARLEN_DEVICE = "cuda"
"""The type of device that has the kernel for flat tensors."""

VARLEN_TYPES: tuple[torch.dtype, ...] = (torch.float16, torch.bfloat16)
"""The types that the kernel takes."""

VARLEN_WIDTH = 256
"""The widest head of the kernel for flat tensors."""

VARLEN_MULTIPLE = 8
"""The kernel takes multiples of this width; unlike `scaled_dot_product_attention` it does not pad others."""


def padded_attention(
    function: AttentionFunction,
    query: Tensor,
    keys: Tensor,
    values: Tensor,
    *,
    is_token: Tensor | None,
    is_causal: bool,
    reach: int | None,
    dropout: float,
) -> Tensor:
    """Attend from `[batch, num_heads, queries, d_k]` to keys `[batch, num_heads, keys, d_k]` and values d_v wide.

    `is_token` is bool `[batch, keys]`, False at pads, which follow a sentence's tokens; None without pads. With
    `is_causal`, a query sees only keys at its own and earlier positions; both are of the same sentences. `reach` is the
    largest distance of a key that a query sees, for dot products; None: any. The result is `[batch, num_heads, queries,
    d_v]`, undefined for queries at pads.
    """
    if reach is not None:
        assert function.scale is not None, "restricted attention is a dot product"
        query, scale = function.transform(query), function.scale
        shown: dict[str, Any] = {"reach": reach, "is_token": is_token, "is_causal": is_causal}
        return local_attention(query, keys, values, **shown, scale=scale, dropout=dropout)
    if function.scale is not None:
        query = function.transform(query)
        # A causal mask hides pads, too.
        mask = None if is_causal or is_token is None else is_token[:, None, None]
        # Equation 1: softmax(scale Q K^T) V; is_causal sets the scores of later keys to -inf (section 3.2.3).
        return _fused(query, keys, values, mask=mask, is_causal=is_causal, scale=function.scale, dropout=dropout)
    allowed = allowed_keys(query.shape[-2], keys.shape[-2], is_token, is_causal=is_causal, device=query.device)
    given: dict[str, Any] = {"allowed": allowed, "dropout": dropout}
    if not torch.is_grad_enabled():
        return attention(function, query, keys, values, **given)
    # Computed again in the backward pass: sums of queries and keys would take d_k times the memory of the scores.
    result: Tensor = checkpoint(attention, function, query, keys, values, use_reentrant=False, **given)
    return result


def _fused(
    query: Tensor,
    keys: Tensor,
    values: Tensor,
    *,
    mask: Tensor | None,
    scale: float | None,
    dropout: float,
    is_causal: bool = False,
) -> Tensor:
    """The fused kernel, under CPU autocast in float32: a backward pass in bf16 takes up to eight times as long."""
    if query.device.type == "cpu" and torch.is_autocast_enabled("cpu"):
        query, keys, values = query.float(), keys.float(), values.float()
        with torch.autocast("cpu", enabled=False):
            return _fused(query, keys, values, mask=mask, scale=scale, dropout=dropout, is_causal=is_causal)
    return F.scaled_dot_product_attention(
        query, keys, values, attn_mask=mask, dropout_p=dropout, is_causal=is_causal, scale=scale
    )


def allowed_keys(
    queries: int,
    keys: int,
    is_token: Tensor | None,
    *,
    is_causal: bool,
    reach: int | None = None,
    device: torch.device,
) -> Tensor | None:
    """Bool that broadcasts to `[batch, num_heads, queries, keys]`, True where `padded_attention` attends; None: all."""
    distance = torch.arange(keys, device=device) - torch.arange(queries, device=device)[:, None]
    allowed = None if reach is None else distance.abs() <= reach
    if is_causal:  # hides pads, too
        return distance <= 0 if allowed is None else allowed & (distance <= 0)
    if is_token is None:
        return allowed
    return is_token[:, None, None] if allowed is None else allowed & is_token[:, None, None]


def attend_few(function: AttentionFunction, query: Tensor, keys: Tensor, values: Tensor, bias: Tensor | None) -> Tensor:
    """Attend from the few queries of a step of a search, `[sentences, num_heads, few, d_k]`, to `[..., few, d_v]`.

    Two plain products are faster here than a fused kernel: on a CPU, for 64 sentences of 30 positions and beam 4, 0.5
    ms instead of 0.9. `bias` is added to the scores and broadcast to `[sentences, num_heads, few, keys]`.
    """
    scores = scores_of(function, query, keys)
    if bias is not None:  # in place only for dot products: other functions may return a view
        scores = scores + bias if function.scale is None else scores.add_(bias)
    return torch.matmul(torch.softmax(scores, dim=-1), values)


def local_attention(
    query: Tensor,
    keys: Tensor,
    values: Tensor,
    *,
    reach: int,
    is_token: Tensor | None = None,
    is_causal: bool = False,
    scale: float | None = None,
    dropout: float = 0.0,
) -> Tensor:
    """Scaled dot-product attention to positions up to `reach` away (section 4, Table 1: r = 2 `reach`).

    The sequence is cut into blocks of `reach`; a block attends to itself and its neighbours, so time and memory grow
    with r n, and no `[length, length]` is computed. Tensors are `[batch, num_heads, length, d]`; `is_token` is bool
    `[batch, length]`, False at pads; `scale` is 1 / sqrt(d_k) by default. The result is zero where nothing is seen.
    """
    batch, _, length, _ = query.shape
    blocks = -(-length // reach)
    tail = blocks * reach - length
    if is_token is None:
        is_token = torch.ones(batch, length, dtype=torch.bool, device=query.device)
    seen = F.pad(is_token, (reach, reach + tail)).unfold(1, 3 * reach, reach)  # [batch, blocks, 3 reach]
    places = torch.arange(3 * reach, device=query.device)
    distance = places - reach - places[:reach, None]
    band = (distance.abs() <= reach) & ((distance <= 0) | (not is_causal))  # [reach, 3 reach]
    allowed = seen[:, :, None] & band
    sees_nothing = ~allowed.any(dim=-1, keepdim=True)  # a softmax over nothing would not be a number

    def around(heads: Tensor) -> Tensor:
        """Each block's own positions and its neighbours', `[batch * blocks, num_heads, 3 reach, d]`."""
        padded = F.pad(heads, (0, 0, reach, reach + tail))
        return padded.unfold(2, 3 * reach, reach).permute(0, 2, 1, 4, 3).flatten(0, 1)

    found = _fused(
        torch.unflatten(F.pad(query, (0, 0, 0, tail)), 2, (blocks, reach)).transpose(1, 2).flatten(0, 1),
        around(keys),
        around(values),
        mask=(allowed | sees_nothing).flatten(0, 1).unsqueeze(1),
        scale=scale,
        dropout=dropout,
    )  # [batch * blocks, num_heads, reach, d_v]
    found = found.masked_fill(sees_nothing.flatten(0, 1).unsqueeze(1), 0.0)
    return torch.unflatten(found, 0, (batch, blocks)).transpose(1, 2).flatten(2, 3)[:, :, :length]


def takes_flat(function: AttentionFunction, query: Tensor, values: Tensor, *, dropout: float) -> bool:
    """Whether `flat_attention` takes these: dot products on GPUs, half precision, equal widths, no dropout."""
    return (
        function.scale is not None
        and query.device.type == VARLEN_DEVICE
        and query.dtype in VARLEN_TYPES
        and query.shape[-1] == values.shape[-1] <= VARLEN_WIDTH
        and query.shape[-1] % VARLEN_MULTIPLE == 0
        and dropout == 0.0
        and varlen_attention is not None
    )


def flat_attention(
    function: AttentionFunction,
    query: Tensor,
    keys: Tensor,
    values: Tensor,
    queries: Layout,
    sources: Layout,
    *,
    is_causal: bool,
) -> Tensor:
    """Attend within the sentences of flat tensors `[tokens, num_heads, d]`, by torch's kernel without padding."""
    assert varlen_attention is not None
    result: Tensor = varlen_attention(
        function.transform(query.transpose(0, 1)).transpose(0, 1),
        keys,
        values,
        queries.offsets,
        sources.offsets,
        max(queries.longest, queries.fillers),  # for the kernel, the fillers are one more sentence
        max(sources.longest, sources.fillers),
        scale=function.scale,
        window_size=(-1, 0 if is_causal else -1),
    )
    return result
