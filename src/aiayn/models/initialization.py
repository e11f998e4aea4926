"""How parameters start. The paper does not say; this is what the authors' code did in 2017."""

import torch
from torch import nn

from aiayn.models.products import Projection


def projection(in_features: int, out_features: int, *, bias: bool) -> nn.Linear:
    """A linear map whose weight starts Xavier uniform (Glorot and Bengio 2010) and whose bias starts at zero.

    Projections that share an input are one matrix here, as they were in the authors' code (`qkv_transform` and
    `kv_transform` of Tensor2Tensor). The fan-out then counts all of them: queries, keys and values start smaller, by
    1/sqrt(2) where they are of one width, than each would alone. Training leaves its first plateau sooner for it
    (docs/log.md).
    """
    linear = Projection(in_features, out_features, bias=bias)
    nn.init.xavier_uniform_(linear.weight)
    if bias:
        nn.init.zeros_(linear.bias)
    return linear


def table(rows: int, d_model: int) -> nn.Parameter:
    """A table of vectors `[rows, d_model]` drawn from N(0, 1 / d_model): rows of length about 1.

    Multiplied by sqrt(d_model), as embeddings are (section 3.4), every coordinate has variance 1; taken as it is, as
    learned positions are, the table starts as a small shift; and a product with a normalised state is of order 1.
    """
    return nn.Parameter(nn.init.normal_(torch.empty(rows, d_model), std=d_model**-0.5))
