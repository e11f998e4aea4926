"""The four types of layers that Table 1 compares, each as bare as the paper counts it (section 4).

Each maps a sequence `[batch, n, d]` to another. Projections, heads and feed-forward networks, which all would share,
are omitted.
"""

from abc import ABC, abstractmethod
from typing import cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from aiayn.models.kernels.fused_attention import local_attention


class LayerType(nn.Module, ABC):
    """One layer, and one round of its exchange between positions."""

    @abstractmethod
    def forward(self, states: Tensor) -> Tensor:
        """Map `[batch, n, d]` to the same shape."""

    @abstractmethod
    def round(self, inputs: Tensor, states: Tensor, number: int) -> Tensor:
        """Let every position read once from those that it is directly connected to.

        `inputs` and `states`, the network's and those after `number` rounds, are `[batch, n, d]`.
        """


class BareSelfAttention(LayerType):
    """softmax(X X^T / sqrt(d)) X: every position reads from every other at once."""

    def forward(self, states: Tensor) -> Tensor:
        """Map `[batch, n, d]` to the same shape."""
        scores = torch.matmul(states, states.transpose(-1, -2)) * states.shape[-1] ** -0.5
        return torch.matmul(torch.softmax(scores, dim=-1), states)

    def round(self, inputs: Tensor, states: Tensor, number: int) -> Tensor:  # noqa: ARG002
        """A layer is a round."""
        return self.forward(states)


class BareRecurrence(LayerType):
    """h_t = tanh(U x_t + W h_(t-1)): a position reads from the one before it.

    The loop over positions is explicit, so that each of its products is counted; `kernel` is torch's own
    implementation, for measurements of time.
    """

    def __init__(self, d: int) -> None:
        super().__init__()
        self.kernel = nn.RNN(d, d, bias=False, batch_first=True)
        nn.init.orthogonal_(cast("Tensor", self.kernel.weight_hh_l0))

    def forward(self, states: Tensor) -> Tensor:
        """Map `[batch, n, d]` to the same shape, one position after another."""
        hidden = torch.zeros_like(states[:, 0])
        outputs = []
        for position in states.unbind(1):
            hidden = self._cell(position, hidden)
            outputs.append(hidden)
        return torch.stack(outputs, dim=1)

    def round(self, inputs: Tensor, states: Tensor, number: int) -> Tensor:
        """Every position reads from the one before it, all at the same time."""
        before = F.pad(states, (0, 0, 1, 0))[:, :-1] if number else torch.zeros_like(inputs)
        return self._cell(inputs, before)

    def _cell(self, position: Tensor, hidden: Tensor) -> Tensor:
        of_input, of_hidden = (cast("Tensor", each) for each in (self.kernel.weight_ih_l0, self.kernel.weight_hh_l0))
        return torch.tanh(F.linear(position, of_input) + F.linear(hidden, of_hidden))


class BareConvolution(LayerType):
    """A convolution over the k positions up to each, dilated in a stack: 1, k, k^2, ... apart (Kalchbrenner 2017)."""

    def __init__(self, d: int, *, kernel_size: int) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.convolution = nn.Conv1d(d, d, kernel_size, bias=False)

    def forward(self, states: Tensor) -> Tensor:
        """Map `[batch, n, d]` to the same shape."""
        return self._dilated(states, 1)

    def round(self, inputs: Tensor, states: Tensor, number: int) -> Tensor:  # noqa: ARG002
        """A layer is a round; its positions are k times further apart than in the one below."""
        return self._dilated(states, self.kernel_size**number)

    def _dilated(self, states: Tensor, dilation: int) -> Tensor:
        padded = F.pad(states.transpose(1, 2), (dilation * (self.kernel_size - 1), 0))
        return F.conv1d(padded, self.convolution.weight, dilation=dilation).transpose(1, 2)


class BareRestrictedAttention(LayerType):
    """Self-attention to the r positions around each."""

    def __init__(self, *, neighbourhood: int) -> None:
        super().__init__()
        self.reach = neighbourhood // 2

    def forward(self, states: Tensor) -> Tensor:
        """Map `[batch, n, d]` to the same shape."""
        head = states.unsqueeze(1)
        return local_attention(head, head, head, reach=self.reach).squeeze(1)

    def round(self, inputs: Tensor, states: Tensor, number: int) -> Tensor:  # noqa: ARG002
        """A layer is a round."""
        return self.forward(states)
