"""Embeddings and softmax (section 3.4)."""

import math
from typing import NamedTuple

import torch.nn.functional as F
from torch import Tensor, nn

from aiayn.models.initialization import table


class TokenEmbedding(nn.Module):
    """Embedding matrix `[vocabulary_size, d_model]`; the output layer shares it."""

    def __init__(self, *, vocabulary_size: int, d_model: int, is_scaled: bool = True) -> None:
        super().__init__()
        self.scale = math.sqrt(d_model) if is_scaled else 1.0
        self.weight = table(vocabulary_size, d_model)

    def forward(self, tokens: Tensor) -> Tensor:
        """Look up ids int64 `[...]`, scaled by sqrt(d_model) if so constructed: `[..., d_model]`."""
        return F.embedding(tokens, self.weight) * self.scale


class Embeddings(NamedTuple):
    """What source, target and output layer multiply by. Section 3.4 has one matrix for all three, `source`."""

    source: TokenEmbedding
    target: TokenEmbedding | None = None
    """None: `source`."""
    output: TokenEmbedding | None = None
    """None: `source`."""
    output_bias: nn.Parameter | None = None
    """Added to the logits, `[vocabulary_size]`."""
    target_space: nn.Parameter | None = None
    """Added to source embeddings, `[d_model]`."""
    decoder_start: str = "bos"
    """The decoder's first input: the embedding of bos, eos or pad, or zeros."""
