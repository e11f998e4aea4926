"""Products of matrices: the faster of the libraries that torch was built with."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

_one_dnn_linear = (
    getattr(torch.ops.mkldnn, "_linear_pointwise", None)
    if torch.backends.cpu.get_cpu_capability() == "AVX512"
    else None
)
"""torch multiplies float32 on CPUs with MKL, which gives AMD's processors its AVX2 code: 109 GFLOP/s on a core whose
AVX-512 units reach 240 through oneDNN. Most builds of torch have that, too, but without a public name."""


class Projection(nn.Linear):
    """`nn.Linear` by `linear`."""

    def forward(self, states: Tensor) -> Tensor:
        """Map `[..., in_features]` to `[..., out_features]`."""
        return linear(states, self.weight, self.bias)


def linear(states: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """`F.linear`: states `[..., width]` times the transposed weight `[out, width]`, plus the bias `[out]`."""
    if _one_dnn_linear is not None and _is_plain(states):
        product: Tensor = _one_dnn_linear(states, weight, bias, "none", [], "")
        return product
    return F.linear(states, weight, bias)


def _is_plain(states: Tensor) -> bool:
    """Whether neither gradients, nor another device or type, nor a compiler ask for torch's own product."""
    return (
        not torch.is_grad_enabled()
        and states.device.type == "cpu"
        and states.dtype == torch.float32
        and states.numel() > 0
        and not torch.is_autocast_enabled("cpu")
        and not torch.compiler.is_compiling()
    )
