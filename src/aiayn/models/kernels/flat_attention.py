"""Equation 1 on flat tensors, by torch's kernel for sentences of different lengths."""

import inspect
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from aiayn.flat_tokens import Layout
from aiayn.models.attention import DotProduct


def taken_kernel(kernel: Callable[..., Any]) -> Callable[..., Any] | None:
    """The kernel if it takes a scale and a window, as since torch 2.11; None otherwise."""
    return kernel if {"scale", "window_size"} <= {*inspect.signature(kernel).parameters} else None


def _installed_kernel() -> Callable[..., Any] | None:
    """Torch's kernel; None without one, and of a build without GPUs, since its import takes as long as torch's own."""
    if torch.version.cuda is None and torch.version.hip is None:
        return None
    try:
        from torch.nn.attention.varlen import varlen_attn
    except ImportError:
        return None
    return taken_kernel(varlen_attn)


varlen_attention = _installed_kernel()
"""The kernel for flat tensors; None: torch has none that `flat_attention` can use."""

VARLEN_DEVICE = "cuda"
"""The type of device that has the kernel for flat tensors."""

VARLEN_TYPES: tuple[torch.dtype, ...] = (torch.float16, torch.bfloat16)
"""The types that the kernel takes."""

VARLEN_WIDTH = 256
"""The widest head of the kernel for flat tensors."""

VARLEN_MULTIPLE = 8
"""The kernel takes multiples of this width; unlike `scaled_dot_product_attention` it does not pad others."""


def takes_flat(query: Tensor, values: Tensor, *, dropout: float) -> bool:
    """Whether `flat_attention` takes these: on GPUs, in half precision, equal widths, no dropout."""
    return (
        query.device.type == VARLEN_DEVICE
        and query.dtype in VARLEN_TYPES
        and query.shape[-1] == values.shape[-1] <= VARLEN_WIDTH
        and query.shape[-1] % VARLEN_MULTIPLE == 0
        and dropout == 0.0
        and varlen_attention is not None
    )


def flat_attention(
    function: DotProduct,
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
