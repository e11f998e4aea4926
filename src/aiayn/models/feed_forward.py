"""Position-wise feed-forward networks (section 3.3)."""

import torch.nn.functional as F
from torch import Tensor, nn

from aiayn.models.dropout import Dropout
from aiayn.models.initialization import projection


class FeedForward(nn.Module):
    """Two biased projections with a ReLU between them: max(0, x W1 + b1) W2 + b2 (equation 2).

    `activation="swish"` replaces the ReLU by x sigmoid(x) (Ramachandran et al. 2017). The paper has no dropout after
    the activation; the authors' later code has it.
    """

    def __init__(self, *, d_model: int, d_ff: int, activation: str = "relu", dropout: float = 0.0) -> None:
        super().__init__()
        self.is_swish = activation == "swish"
        self.dropout = Dropout(dropout)
        self.inner = projection(d_model, d_ff, bias=True)
        self.output = projection(d_ff, d_model, bias=True)

    def forward(self, states: Tensor) -> Tensor:
        """Map every position alone, `[..., d_model]` to `[..., d_model]`."""
        inner = self.inner(states)
        # In place, since this is the model's widest activation: ReLU's gradient needs only the values after it.
        active = F.silu(inner) if self.is_swish else F.relu(inner, inplace=True)
        result: Tensor = self.output(self.dropout(active))
        return result
