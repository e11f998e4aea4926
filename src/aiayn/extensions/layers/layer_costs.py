"""The measured cost of a layer: operations, sequential operations, and path lengths."""

import time
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from aiayn.extensions.layers.layer_types import LayerType

PRODUCTS = ("MmBackward", "BmmBackward", "AddmmBackward", "ConvolutionBackward")
"""Names of matrix products in autograd's graph."""


def operations(layer: LayerType, *, n: int, d: int) -> int:
    """Multiplications and additions of the layer's products on one sequence, counted by torch."""
    # The fused kernels of attention would be counted whatever they skip; the plain one shows its products.
    with FlopCounterMode(display=False) as counter, torch.no_grad(), sdpa_kernel(SDPBackend.MATH):
        layer(torch.randn(1, n, d))
    return int(counter.get_total_flops())


def sequential_operations(layer: LayerType, *, n: int, d: int) -> int:
    """The longest chain of products that need one another, in autograd's graph."""
    with sdpa_kernel(SDPBackend.MATH):
        output = layer(torch.randn(1, n, d, requires_grad=True))
    lengths: dict[Any, int] = {None: 0}
    pending: list[Any] = [output.grad_fn]
    while pending:  # without recursion: the graph of a recurrence is deep
        node = pending[-1]
        below = [each for each, _ in node.next_functions]
        missing = [each for each in below if each not in lengths]
        if missing:
            pending += missing
            continue
        is_product = node.name().startswith(PRODUCTS)
        lengths[node] = is_product + max((lengths[each] for each in below), default=0)
        pending.pop()
    return lengths[output.grad_fn]


def path_length(layer: LayerType, *, n: int, d: int) -> int:
    """Rounds until the last position depends on the first, by its gradient."""
    inputs = torch.randn(1, n, d, dtype=torch.float64, requires_grad=True)
    states: list[Tensor] = [inputs]  # after each round

    def is_reached_in(rounds: int) -> bool:
        for number in range(len(states) - 1, rounds):
            states.append(layer.round(inputs, states[-1], number))
        (gradient,) = torch.autograd.grad(states[rounds][0, -1].sum(), inputs, retain_graph=True)
        return bool((gradient[0, 0] != 0).any())

    enough = 1
    while not is_reached_in(enough):
        assert enough < n, "the last position never depends on the first"
        enough = min(2 * enough, n)
    too_few = enough // 2
    while enough - too_few > 1:
        middle = (too_few + enough) // 2
        too_few, enough = (too_few, middle) if is_reached_in(middle) else (middle, enough)
    return enough


def seconds(
    layer: Callable[[Tensor], object], *, batch: int, n: int, d: int, device: torch.device, repeats: int = 3
) -> float:
    """The time of a forward pass: the shortest of some repeats."""
    states = torch.randn(batch, n, d, device=device)
    times = []
    with torch.no_grad():
        layer(states)  # libraries choose and compile their kernels the first time
        for _ in range(repeats):
            _wait(device)
            start = time.perf_counter()
            layer(states)
            _wait(device)
            times.append(time.perf_counter() - start)
    return min(times)


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
