"""The layers of a model with their output shapes, parameters, operations and memory, measured in one forward pass.

Nothing is computed on the meta device, so a model of any size takes a fraction of a second.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.multiprocessing.reductions import StorageWeakRef
from torch.overrides import TorchFunctionMode
from torch.utils.flop_counter import FlopCounterMode

from aiayn.flat_tokens import FlatTokens
from aiayn.models.measured_cost import PRODUCTS
from aiayn.models.translation_model import TranslationModel

OUTPUT = "output layer"
"""The name of the output layer, which is no module; its memory is that of the loss, which is fused with it."""

SINGLE_BYTES = 4

Shape: TypeAlias = tuple[int | str, ...]
"""Of an output; a dimension that follows the batch by its name."""


@dataclass(frozen=True)
class Layer:
    """A module of a model, or a parameter of one, with all modules inside it."""

    name: str
    """The attribute that holds it."""
    kind: str
    """Its class."""
    shape: Shape
    """Of its first output, or of the parameter; empty if the pass does not call it."""
    parameters: int
    """A tied matrix counts where it occurs first."""
    weight_flops: int
    """Of products of weights with tokens in the forward pass, two for each weight and token."""
    other_flops: int
    """Of products of activations with each other, which attention makes; pads are included."""
    kept_bytes: int
    """That the forward pass keeps for the backward pass, in single precision."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Plain values that the module holds, such as num_heads."""
    children: tuple["Layer", ...] = ()


@dataclass
class _Counts:
    weight_flops: int = 0
    other_flops: int = 0
    kept_bytes: int = 0


class _Tracer:
    """Attributes operations and kept tensors to the innermost module that runs."""

    def __init__(self, model: nn.Module, counter: FlopCounterMode) -> None:
        self.counter = counter
        self.counts: defaultdict[str, _Counts] = defaultdict(_Counts)
        self.shapes: dict[str, tuple[int, ...]] = {}
        self._running = [""]
        self._seen: Counter[bool] = Counter()
        # Storages on the meta device have no address; all tensors are held, so that no identity is used twice.
        self._held: list[Tensor] = list(model.parameters())
        self._storages = {_storage(each) for each in self._held}

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
        if _storage(tensor) not in self._storages:
            self._storages.add(_storage(tensor))
            self._held.append(tensor)
            counts, values = self.counts[self._running[-1]], tensor.untyped_storage().nbytes() // tensor.element_size()
            if tensor.is_floating_point():
                counts.kept_bytes += SINGLE_BYTES * values
            elif tensor.dtype in (torch.bool, torch.uint8):  # a mask; indices are the batch's own
                counts.kept_bytes += values
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


def _storage(tensor: Tensor) -> int:
    return int(StorageWeakRef(tensor.untyped_storage()).cdata)  # type: ignore[no-untyped-call]


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


def traced(model: TranslationModel[Any], source: FlatTokens, target: FlatTokens) -> Layer:
    """The layers of a model in training, for one batch on the model's device: the meta device, or the CPU.

    On the CPU, the model is in double precision, whose products torch counts whatever library computes the others.
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
    # The loss keeps gradients instead of logits: of the states that it read and of the matrix; see `ModelCost`.
    tracer.counts[OUTPUT].kept_bytes = SINGLE_BYTES * (states.numel() + model.output_weight.numel())
    return _tree(model, tracer)


def _tree(model: nn.Module, tracer: _Tracer) -> Layer:
    """The traced modules as a tree; parameters of a module with children are leaves."""
    seen: set[int] = set()

    def count(parameter: nn.Parameter) -> int:
        is_new = id(parameter) not in seen
        seen.add(id(parameter))
        return parameter.numel() if is_new else 0

    def layer(module: nn.Module, path: str, name: str) -> Layer:
        own, prefix = tracer.counts[path], f"{path}." if path else ""
        inside = [layer(child, f"{prefix}{each}", each) for each, child in module.named_children()]
        parameters = 0
        for each, parameter in module.named_parameters(recurse=False):
            if inside:
                inside.append(Layer(each, "Parameter", tuple(parameter.shape), count(parameter), 0, 0, 0))
            else:
                parameters += count(parameter)
        if not path:
            output = tracer.counts[OUTPUT]
            inside.append(Layer(OUTPUT, "", tracer.shapes[OUTPUT], 0, **vars(output)))
        return Layer(
            name,
            type(module).__name__,
            tracer.shapes.get(path, tracer.shapes.get(OUTPUT, ()) if not path else ()),
            parameters + sum(each.parameters for each in inside),
            own.weight_flops + sum(each.weight_flops for each in inside),
            own.other_flops + sum(each.other_flops for each in inside),
            own.kept_bytes + sum(each.kept_bytes for each in inside),
            _settings(module),
            tuple(inside),
        )

    return layer(model, "", "model")


def _settings(module: nn.Module) -> dict[str, Any]:
    plain = {name: value for name, value in vars(module).items() if isinstance(value, bool | int | float | str)}
    return {name: value for name, value in plain.items() if name != "training" and not name.startswith("_")}


PROBES = ((7, 11, 13), (5, 17, 19))
"""Sentences and tokens of a source and a target, of two batches: a dimension is named by its size in both."""


def _probe_names() -> dict[tuple[int | str, ...], str]:
    (count, source, target), (other_count, other_source, other_target) = PROBES
    return {
        (count * source, other_count * other_source): "source",
        (count * target, other_count * other_target): "target",
        (count, other_count): "sentences",
        (source, other_source): "longest source",
        (target, other_target): "longest target",
    }


def named_shapes(tree: Layer, probed: Sequence[Layer]) -> Layer:
    """The tree with the names of dimensions that follow the batch, by the trees of `PROBES`."""
    names = _probe_names()
    one, other = probed
    shape = tree.shape
    if len(one.shape) == len(other.shape) == len(shape):
        shape = tuple(names.get(each[1:], each[0]) for each in zip(shape, one.shape, other.shape, strict=True))
    children = zip(tree.children, one.children, other.children, strict=True)
    return replace(
        tree, shape=shape, children=tuple(named_shapes(child, (first, second)) for child, first, second in children)
    )


def probe_batches() -> Iterator[tuple[FlatTokens, FlatTokens]]:
    """The batches of `PROBES`."""
    for sentences, *lengths in PROBES:
        source, target = (FlatTokens.of([[1] * length] * sentences) for length in lengths)
        yield source, target
