"""Initial parameters. The paper does not state them; these are those of the authors' code of 2017."""

import torch
from torch import nn

from aiayn.models.kernels.matmul import Projection


def projection(in_features: int, out_features: int, *, bias: bool) -> nn.Linear:
    """A linear map with a Xavier uniform weight (Glorot and Bengio 2010) and a bias of zero.

    Projections that share an input are one matrix, as in the authors' code (`qkv_transform` and `kv_transform` of
    Tensor2Tensor). The fan-out counts all of them: queries, keys and values of one width start smaller, by 1/sqrt(2),
    than alone. Training leaves its first plateau sooner for it (docs/log.md).
    """
    linear = Projection(in_features, out_features, bias=bias)
    nn.init.xavier_uniform_(linear.weight)
    if bias:
        nn.init.zeros_(linear.bias)
    return linear


def target_space(d_model: int) -> nn.Parameter:
    """One vector `[d_model]`, drawn as a row of the authors' table for 32 target spaces, with a fan-avg uniform."""
    bound = (6.0 / (32 + d_model)) ** 0.5
    return nn.Parameter(nn.init.uniform_(torch.empty(d_model), -bound, bound))


def table(rows: int, d_model: int) -> nn.Parameter:
    """Vectors `[rows, d_model]` drawn from N(0, 1 / d_model), of length about 1.

    Multiplied by sqrt(d_model), as embeddings (section 3.4), coordinates have variance 1; as it is, as learned
    positions, the table starts as a small shift; a product with a normalised state is of order 1.
    """
    return nn.Parameter(nn.init.normal_(torch.empty(rows, d_model), std=d_model**-0.5))
