"""The logarithm of the sum that a softmax divides by."""

import math

import torch
from torch import Tensor

CHUNK = 2**18
"""Numbers at a time: one megabyte, which stays in a core's own cache."""


def log_sum_exp(logits: Tensor) -> Tensor:
    """log(sum(exp(logits))) over the last dimension, float32 `[...]` of `[..., vocabulary]`.

    On CPUs in powers of two, a few rows at a time in one buffer: 256 rows of a vocabulary of 37,000 take 6 ms instead
    of 14 by `torch.logsumexp` and 25 by `log_softmax`, mostly since MKL's `exp` is slow.
    """
    if logits.device.type != "cpu" or logits.dtype != torch.float32 or not logits.numel():
        return torch.logsumexp(logits.float(), dim=-1)
    rows = logits.flatten(0, -2)
    result = rows.amax(dim=1)
    buffer = rows.new_empty(max(1, CHUNK // rows.shape[1]), rows.shape[1])
    for chunk, chunk_result in zip(torch.split(rows, len(buffer)), torch.split(result, len(buffer)), strict=True):
        exponents = torch.sub(chunk, chunk_result.unsqueeze(1), out=buffer[: len(chunk)])
        chunk_result.add_(exponents.mul_(math.log2(math.e)).exp2_().sum(dim=1).log_())
    return result.view(logits.shape[:-1])
