"""How parameters start. The paper does not say; this is what the authors' code did in 2017."""

import torch
from torch import nn


def projection(in_features: int, *blocks: int, bias: bool) -> nn.Linear:
    """Several projections of one input as a single product, outputs `[..., sum(blocks)]` side by side.

    Each block starts as it would alone: Xavier uniform over its own fan-in and fan-out (Glorot and Bengio 2010), biases
    zero. Taken over the whole matrix, the fan-out would count every block and the weights would start too small.
    """
    linear = nn.Linear(in_features, sum(blocks), bias=bias)
    for block in torch.split(linear.weight, list(blocks)):
        nn.init.xavier_uniform_(block)
    if bias:
        nn.init.zeros_(linear.bias)
    return linear


def table(rows: int, d_model: int) -> nn.Parameter:
    """A table of vectors `[rows, d_model]` drawn from N(0, 1 / d_model): rows of length about 1.

    Multiplied by sqrt(d_model), as embeddings are (section 3.4), every coordinate has variance 1; taken as it is, as
    learned positions are, the table starts as a small shift; and a product with a normalised state is of order 1.
    """
    return nn.Parameter(nn.init.normal_(torch.empty(rows, d_model), std=d_model**-0.5))
