"""The layers of a model with their output shapes, parameters, operations and memory, measured in one forward pass."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from torch import nn

from aiayn.flat_tokens import FlatTokens
from aiayn.models.cost import SINGLE, Kept
from aiayn.models.tracing import OUTPUT, Counts, Trace, trace
from aiayn.models.translation_model import TranslationModel

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
    """See `tracing.Counts`."""
    other_flops: int
    kept_bytes: int
    """That the forward pass keeps for the backward pass, in single precision."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Plain values that the module holds, such as num_heads."""
    children: tuple["Layer", ...] = ()


def traced(model: TranslationModel[Any], source: FlatTokens, target: FlatTokens) -> Layer:
    """The layers of a model in training, for one batch; see `trace`."""
    found = trace(model, source, target)
    # The loss keeps gradients instead of logits: of the states that it read and of the matrix; see `ModelCost`.
    weight, tokens = model.output_weight, found.shapes[OUTPUT][0]
    found.counts[OUTPUT].kept_values = tokens * weight.shape[1] + weight.numel()
    return _tree(model, found)


def _tree(model: nn.Module, found: Trace) -> Layer:
    """The traced modules as a tree; parameters of a module with children are leaves."""
    seen: set[int] = set()

    def count(parameter: nn.Parameter) -> int:
        is_new = id(parameter) not in seen
        seen.add(id(parameter))
        return parameter.numel() if is_new else 0

    def layer(module: nn.Module, path: str, name: str) -> Layer:
        own, prefix = found.counts[path], f"{path}." if path else ""
        inside = [layer(child, f"{prefix}{each}", each) for each, child in module.named_children()]
        parameters = 0
        for each, parameter in module.named_parameters(recurse=False):
            if inside:
                inside.append(Layer(each, "Parameter", tuple(parameter.shape), count(parameter), 0, 0, 0))
            else:
                parameters += count(parameter)
        if not path:
            output = found.counts[OUTPUT]
            flops = output.weight_flops, output.other_flops
            inside.append(Layer(OUTPUT, "", found.shapes[OUTPUT], 0, *flops, _kept_bytes(output)))
        return Layer(
            name,
            type(module).__name__,
            found.shapes.get(path, found.shapes.get(OUTPUT, ()) if not path else ()),
            parameters + sum(each.parameters for each in inside),
            own.weight_flops + sum(each.weight_flops for each in inside),
            own.other_flops + sum(each.other_flops for each in inside),
            _kept_bytes(own) + sum(each.kept_bytes for each in inside),
            _settings(module),
            tuple(inside),
        )

    return layer(model, "", "model")


def _kept_bytes(counts: Counts) -> int:
    return Kept(counts.kept_values, masks=counts.kept_masks).bytes(SINGLE)


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
