"""Products of matrices: the faster of the libraries that torch was built with."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
import torch.nn.functional as F
from torch import Tensor, nn

_HAS_ONE_DNN = torch.backends.cpu.get_cpu_capability() == "AVX512" and all(
    hasattr(torch.ops.mkldnn, name) for name in ("_linear_pointwise", "_reorder_linear_weight")
)
"""torch multiplies float32 on CPUs with MKL, which gives AMD's processors its AVX2 code: 109 GFLOP/s on a core whose
AVX-512 units reach 240 through oneDNN. Most builds of torch have that, too, but without a public name."""

_packed: dict[int, Tensor] = {}
"""The weights that `packed` holds, by the identity of the plain ones."""


class Projection(nn.Linear):
    """`nn.Linear` by `linear`."""

    def forward(self, states: Tensor) -> Tensor:
        """Map `[..., in_features]` to `[..., out_features]`."""
        return linear(states, self.weight, self.bias)


def linear(states: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """`F.linear`: states `[..., width]` times the transposed weight `[out, width]`, plus the bias `[out]`."""
    if _HAS_ONE_DNN and not torch.is_grad_enabled() and _is_plain(states):
        weight = _packed.get(id(weight), weight)
        product: Tensor = torch.ops.mkldnn._linear_pointwise(states, weight, bias, "none", [], "")  # noqa: SLF001
        return product
    return F.linear(states, weight, bias)


@contextmanager
def packed(model: nn.Module) -> Iterator[None]:
    """Hold the matrices of a model in oneDNN's own layout, too; they must not change meanwhile.

    A search multiplies few rows by all of them at every step, and without it reads them twice: one sentence of beam 4
    takes half as long, eight take 0.8 of the time, 64 almost all of it. Costs the model's size in memory and a fraction
    of a second.
    """
    matrices = [each for each in model.parameters() if each.dim() == 2 and _is_plain(each)]
    added = {id(each): each for each in matrices if _HAS_ONE_DNN and id(each) not in _packed}
    for key, weight in added.items():
        _packed[key] = torch.ops.mkldnn._reorder_linear_weight(weight.detach())  # noqa: SLF001
    try:
        yield
    finally:
        for key in added:
            del _packed[key]


def _is_plain(tensor: Tensor) -> bool:
    """Whether neither another device or type, nor a compiler ask for torch's own product."""
    return (
        tensor.device.type == "cpu"
        and tensor.dtype == torch.float32
        and tensor.numel() > 0
        and not torch.is_autocast_enabled("cpu")
        and not torch.compiler.is_compiling()
    )
