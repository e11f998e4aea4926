"""Embeddings and softmax (section 3.4)."""

import math

import torch.nn.functional as F
from torch import Tensor, nn

from aiayn.models.initialization import table


class TokenEmbedding(nn.Module):
    """Embedding matrix `[vocabulary_size, d_model]`; `Transformer.output_weight` shares it by default."""

    def __init__(self, *, vocabulary_size: int, d_model: int, is_scaled: bool = True) -> None:
        super().__init__()
        self.scale = math.sqrt(d_model) if is_scaled else 1.0
        self.weight = table(vocabulary_size, d_model)

    def forward(self, tokens: Tensor) -> Tensor:
        """Look up ids int64 `[...]`, scaled by sqrt(d_model) if so constructed: `[..., d_model]`."""
        return F.embedding(tokens, self.weight) * self.scale
