"""Position-wise feed-forward networks (section 3.3)."""

import torch.nn.functional as F
from torch import Tensor, nn

from aiayn.models.dropout import Dropout
from aiayn.models.initialization import projection


class FeedForward(nn.Module):
    """Two biased projections with a ReLU between them: max(0, x W1 + b1) W2 + b2 (equation 2).

    Dropout after the ReLU is not the paper's, but that of the authors' later code.
    """

    def __init__(self, *, d_model: int, d_ff: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.dropout = Dropout(dropout)
        self.inner = projection(d_model, d_ff, bias=True)
        self.output = projection(d_ff, d_model, bias=True)

    def forward(self, states: Tensor) -> Tensor:
        """Map every position alone, `[..., d_model]` to `[..., d_model]`."""
        # In place: the widest activation of the model, and no gradient needs what it was before.
        result: Tensor = self.output(self.dropout(F.relu(self.inner(states), inplace=True)))
        return result
