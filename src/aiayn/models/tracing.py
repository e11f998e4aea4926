"""Operations and kept memory of one forward pass, attributed to the modules of a model.

Nothing is computed on the meta device, so a model of any size takes a fraction of a second.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from torch.utils.flop_counter import FlopCounterMode

from aiayn.flat_tokens import FlatTokens
from aiayn.models.translation_model import TranslationModel

PRODUCTS = (torch.ops.aten.mm, torch.ops.aten.addmm, torch.ops.aten.convolution)
"""Products of weights with tokens; attention's own are batched ones."""

OUTPUT = "output layer"
"""The name of the output layer, which is no module."""


@dataclass
class Counts:
    """Operations and kept memory of a module, without those of the modules inside it."""

    weight_flops: int = 0
    """Of products of weights with tokens in the forward pass, two for each weight and token."""
    other_flops: int = 0
    """Of products of activations with each other, which attention makes; pads are included."""
    kept_values: int = 0
    """Values kept for the backward pass, without parameters and indices."""
    kept_masks: int = 0
    """Masks kept for the backward pass, in bytes."""


class Trace(NamedTuple):
    """Of one forward pass."""

    counts: Mapping[str, Counts]
    """By the names of modules, "" for the model, and `OUTPUT`; others have counts of zero."""
    shapes: Mapping[str, tuple[int, ...]]
    """Of the first outputs of modules that were called, and of the logits."""


class _Tracer:
    """Attributes operations and kept tensors to the innermost module that runs."""

    def __init__(self, model: nn.Module, counter: FlopCounterMode) -> None:
        self.counter = counter
        self.counts: defaultdict[str, Counts] = defaultdict(Counts)
        self.shapes: dict[str, tuple[int, ...]] = {}
        self._running = [""]
        self._seen: Counter[bool] = Counter()
        # By identity, since storages on the meta device have no address; they are held, so that none is used twice.
        self._storages = {each.untyped_storage() for each in model.parameters()}

    def enter(self, name: str) -> None:
        self._charge()
        self._running.append(name)

    def leave(self, output: object = None) -> None:
        self._charge()
        name = self._running.pop()
        while isinstance(output, tuple | list) and output:
            output = output[0]
        if isinstance(output, Tensor):
            self.shapes.setdefault(name, tuple(output.shape))

    def pack(self, tensor: Tensor) -> Tensor:
        """Called with each tensor that autograd saves."""
        if (storage := tensor.untyped_storage()) not in self._storages:
            self._storages.add(storage)
            counts, values = self.counts[self._running[-1]], storage.nbytes() // tensor.element_size()
            if tensor.is_floating_point():
                counts.kept_values += values
            elif tensor.dtype in (torch.bool, torch.uint8):  # a mask; indices are the batch's own
                counts.kept_masks += values
        return tensor

    def _charge(self) -> None:
        """Attribute all operations since the last call."""
        seen: Counter[bool] = Counter()
        for product, flops in self.counter.get_flop_counts().get("Global", {}).items():
            seen[product in PRODUCTS] += flops
        counts = self.counts[self._running[-1]]
        counts.weight_flops += seen[True] - self._seen[True]
        counts.other_flops += seen[False] - self._seen[False]
        self._seen = seen


class _KeptAttention(torch.autograd.Function):
    """A fused kernel's attention, which keeps its inputs and its output, in the layout of flat tensors."""

    @staticmethod
    def forward(ctx: Any, query: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        output = torch.matmul(torch.matmul(query, keys.transpose(-2, -1)), values)  # nothing is normalised
        output = output.transpose(1, 2).contiguous().transpose(1, 2)
        ctx.save_for_backward(query, keys, values, output)
        return output


class _KeptDropout(torch.autograd.Function):
    """Dropout, which keeps a mask of a byte for each value; nothing is dropped."""

    @staticmethod
    def forward(ctx: Any, values: Tensor) -> Tensor:
        ctx.save_for_backward(torch.empty_like(values, dtype=torch.bool))
        return values.clone()


class _AsInTraining(TorchFunctionMode):
    """On the meta device, attention and dropout keep as much as on devices that compute."""

    def __torch_function__(
        self, func: Callable[..., Any], types: Sequence[type], args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        if func is F.scaled_dot_product_attention:
            return _KeptAttention.apply(*args[:3])  # type: ignore[no-untyped-call]
        if func is F.dropout:
            return _KeptDropout.apply(args[0])  # type: ignore[no-untyped-call]
        return func(*args, **(kwargs or {}))


def trace(model: TranslationModel[Any], source: FlatTokens, target: FlatTokens) -> Trace:
    """Trace a model in training, for one batch on the model's device: the meta device, or the CPU.

    On the CPU, the model is in double precision, whose products torch counts whatever library computes the others. The
    loss, which is fused with the output layer, is not traced.
    """
    device = model.output_weight.device
    source, target = source.to(device), target.to(device)
    model.train().requires_grad_()
    with ExitStack() as stack:
        counter = stack.enter_context(FlopCounterMode(display=False))
        tracer = _Tracer(model, counter)
        stack.enter_context(torch.autograd.graph.saved_tensors_hooks(tracer.pack, lambda tensor: tensor))
        stack.enter_context(torch.device(device))
        if device.type == "meta":
            stack.enter_context(_AsInTraining())
        for name, module in model.named_modules():
            if name:
                before = module.register_forward_pre_hook(lambda *_, name=name: tracer.enter(name))
                after = module.register_forward_hook(lambda *given: tracer.leave(given[-1]))
                stack.callback(before.remove)
                stack.callback(after.remove)
        states = model.states(source, target)
        tracer.enter(OUTPUT)
        with torch.no_grad():
            tracer.leave(model.project(states))
    return Trace(tracer.counts, tracer.shapes)
