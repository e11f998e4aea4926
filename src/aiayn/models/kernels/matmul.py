"""Matrix products by the faster of the libraries that torch was built with."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.function import FunctionCtx, once_differentiable

from aiayn.system.torch_internals import one_dnn

_PRODUCTS = one_dnn() if torch.backends.cpu.get_cpu_capability() == "AVX512" else None
_HAS_ONE_DNN = _PRODUCTS is not None
"""torch multiplies float32 on CPUs with MKL, which runs AVX2 code on AMD's processors: 109 GFLOP/s on a core that
reaches 240 with AVX-512 through oneDNN (Zen 5; 95 and 105 with Zen 4); on Intel's both are equally fast. Most builds of
torch have oneDNN, too, but without a public name.

The instruction set decides, and no measurement: the two round differently, and an interrupted run resumes bit for bit
only if it gets the same one again."""

ROWS_MULTIPLE = 64 if _HAS_ONE_DNN else 1
"""The best multiple for rows of training's products. oneDNN compiles code for every new shape, which takes a
millisecond or two and a megabyte, and no two batches have equally many tokens."""


_packed: dict[int, Tensor] = {}
"""The weights that `packed` holds, by the identity of the plain ones."""


class Projection(nn.Linear):
    """`nn.Linear` by `linear`."""

    def forward(self, states: Tensor) -> Tensor:
        """Map `[..., in_features]` to `[..., out_features]`."""
        return linear(states, self.weight, self.bias)


def linear(states: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """`F.linear`: states `[..., width]` times the transposed weight `[out, width]`, plus the bias `[out]`."""
    if not _HAS_ONE_DNN or not _is_plain(states):
        return F.linear(states, weight, bias)
    if torch.is_grad_enabled() and (states.requires_grad or weight.requires_grad):
        if states.dim() == 2:  # no view of the result: autograd copies one that is changed in place
            result: Tensor = _Linear.apply(states, weight, bias)  # type: ignore[no-untyped-call]
            return result
        rows: Tensor = _Linear.apply(states.flatten(0, -2), weight, bias)  # type: ignore[no-untyped-call]
        return torch.unflatten(rows, 0, states.shape[:-1])
    return _one_dnn(states, _packed.get(id(weight), weight), bias)


def add_product(total: Tensor, left: Tensor, right: Tensor) -> None:
    """Add `left.T @ right` to `total`, `[rows, columns]`, which may have a higher precision; without autograd.

    `left` is `[width, rows]`, `right` is `[width, columns]`.
    """
    if _HAS_ONE_DNN and _is_plain(left):
        total += _one_dnn(right.t(), left.t()).t()  # the way round that is faster where rows are many
    elif left.dtype == total.dtype:
        total.addmm_(left.t(), right)
    else:
        total += left.t() @ right


class _Linear(torch.autograd.Function):
    """`linear` and its derivative; oneDNN reads transposed matrices as they are."""

    @staticmethod
    def forward(ctx: FunctionCtx, states: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        if states.stride(1) == 1 and 0 < states.stride(0) < states.shape[1]:
            states = states.contiguous()  # windows of one sequence, which share memory: oneDNN cannot transpose them
        ctx.save_for_backward(states, weight)
        return _one_dnn(states, weight, bias)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        states, weight = ctx.saved_tensors
        for_states, for_weight, for_bias = ctx.needs_input_grad
        return (
            _one_dnn(gradient, weight.t()) if for_states else None,
            _outer(gradient, states) if for_weight else None,
            gradient.sum(dim=0) if for_bias else None,
        )


def _outer(gradient: Tensor, states: Tensor) -> Tensor:
    """`gradient.T @ states`; oneDNN copies the transposed one that is its first operand, so it gets the narrower."""
    rows, out, width = len(gradient), gradient.shape[1], states.shape[1]
    if out * rows <= width * rows + out * width:
        return _one_dnn(gradient.t(), states.t())
    return _one_dnn(states.t(), gradient.t()).t().contiguous()


def _one_dnn(states: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    assert _PRODUCTS is not None
    product: Tensor = _PRODUCTS.linear(states, weight, bias, "none", [], "")
    return product


@contextmanager
def packed(model: nn.Module) -> Iterator[None]:
    """Hold the matrices of a model in oneDNN's own layout, too; they must not change meanwhile.

    A search multiplies few rows by all of them at every step; in the plain layout they are read twice: with this, one
    sentence of beam 4 takes half as long, eight take 0.8 of the time, 64 almost all of it. It costs the model's size in
    memory and a fraction of a second.
    """
    matrices = [each for each in model.parameters() if each.dim() == 2 and _is_plain(each)]
    added = {id(each): each for each in matrices if _HAS_ONE_DNN and id(each) not in _packed}
    for key, weight in added.items():
        assert _PRODUCTS is not None
        _packed[key] = _PRODUCTS.reordered(weight.detach())
    try:
        yield
    finally:
        for key in added:
            del _packed[key]


def _is_plain(tensor: Tensor) -> bool:
    """Whether no other device or type, and no compiler, requires torch's own product."""
    return (
        tensor.device.type == "cpu"
        and tensor.dtype == torch.float32
        and tensor.numel() > 0
        and not torch.is_autocast_enabled("cpu")
        and not torch.compiler.is_compiling()
    )
