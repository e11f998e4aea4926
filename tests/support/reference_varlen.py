"""A plain form of torch's kernel for flat tensors, on any device and in any type."""

import torch
from torch import Tensor


def reference_varlen(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    cu_seq_q: Tensor,
    cu_seq_k: Tensor,
    max_q: int,
    max_k: int,
    *,
    scale: float,
    window_size: tuple[int, int] = (-1, -1),
) -> Tensor:
    """Attend sentence by sentence; the window is all keys, or those up to the query's position.

    Tensors are `[tokens, num_heads, d]`. Queries of a sentence without keys get zeros.
    """
    assert query.shape[-1] == key.shape[-1] == value.shape[-1]
    for tokens, offsets, longest in ((query, cu_seq_q, max_q), (key, cu_seq_k, max_k), (value, cu_seq_k, max_k)):
        assert offsets.dtype == torch.int32
        assert (int(offsets[0]), int(offsets[-1])) == (0, len(tokens))
        assert int(offsets.diff().max()) <= longest
    assert window_size in ((-1, -1), (-1, 0))
    sides = ((query, cu_seq_q), (key, cu_seq_k), (value, cu_seq_k))
    sentences = (torch.split(tokens, offsets.diff().tolist()) for tokens, offsets in sides)
    found = []
    for queries, keys, values in zip(*sentences, strict=True):
        scores = torch.einsum("qhd,khd->hqk", queries, keys) * scale
        if window_size == (-1, 0):
            later = torch.ones_like(scores, dtype=torch.bool).triu(1 + len(keys) - len(queries))
            scores = scores.masked_fill(later, -torch.inf)
        found.append(torch.einsum("hqk,khd->qhd", scores.softmax(dim=-1), values))
    return torch.cat(found)
