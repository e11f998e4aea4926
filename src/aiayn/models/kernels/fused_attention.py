"""Equation 1 for dot products on padded tensors, by torch's fused kernels, which store no scores."""

import torch
import torch.nn.functional as F
from torch import Tensor


def fused_attention(
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
            return fused_attention(query, keys, values, mask=mask, scale=scale, dropout=dropout, is_causal=is_causal)
    return F.scaled_dot_product_attention(
        query, keys, values, attn_mask=mask, dropout_p=dropout, is_causal=is_causal, scale=scale
    )


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

    found = fused_attention(
        torch.unflatten(F.pad(query, (0, 0, 0, tail)), 2, (blocks, reach)).transpose(1, 2).flatten(0, 1),
        around(keys),
        around(values),
        mask=(allowed | sees_nothing).flatten(0, 1).unsqueeze(1),
        scale=scale,
        dropout=dropout,
    )  # [batch * blocks, num_heads, reach, d_v]
    found = found.masked_fill(sees_nothing.flatten(0, 1).unsqueeze(1), 0.0)
    return torch.unflatten(found, 0, (batch, blocks)).transpose(1, 2).flatten(2, 3)[:, :, :length]
