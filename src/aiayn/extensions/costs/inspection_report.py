"""`aiayn inspect`: the layers of a model as a tree, with the differences to base at the same scale."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any, ClassVar

from omegaconf import OmegaConf

from aiayn.config.difference import row_configuration
from aiayn.extensions.costs.inspection import InspectedBatch, Inspection, inspect_model
from aiayn.extensions.costs.schema import InspectConfig
from aiayn.models.cost import BYTES_OF_STATE
from aiayn.models.layer_tree import Layer, Shape
from aiayn.reports.content import Content
from aiayn.reports.formats import Document, show
from aiayn.reports.grid import Grid

BASE = "table3/base"
"""The row that others are compared with."""

FORWARD_AND_BACKWARD = 3
"""Operations of a training step for each one of its forward pass, in products of weights."""


MARK = "≠"

INDENT = "\N{NO-BREAK SPACE}" * 2
"""Of a level of the tree; Markdown would remove plain spaces."""

UNITS = "kMGT"

NAMED = ("vocabulary", "d_model")
"""Sizes that stand in shapes by name; others could be taken for each other."""

FIGURES = ("parameters", "FLOPs", "memory")
"""The columns of `Node.figures`."""

NAMED_SETTINGS = ("num_heads", "d_k", "d_v", "kernel_size", "probability")
"""Settings of a layer that its figures need not show."""


@dataclass(frozen=True)
class Node:
    """A layer, or several equal ones that follow each other, beside the same of base."""

    layer: Layer
    """Of several: one of them, with the mean of their memory."""
    count: int
    children: tuple["Node", ...]
    base: "Node | None" = None

    @property
    def name(self) -> str:
        """As in a line of the tree."""
        if self.count > 1 or self.layer.name.isdecimal():
            return f"{self.count} x {self.layer.kind}"
        return self.layer.name

    @property
    def has_content(self) -> bool:
        """Whether there is anything to show of it."""
        layer = self.layer
        return bool(layer.parameters or layer.weight_flops or layer.other_flops or layer.kept_bytes)

    def figures(self) -> tuple[str, str, str]:
        """Parameters, operations and memory."""
        layer = self.layer
        flops = layer.weight_flops + layer.other_flops
        return short(layer.parameters), short(flops), short(layer.kept_bytes, binary=True)


@dataclass(frozen=True)
class NamedLayer:
    """A layer by its name."""

    name: str
    """Name in the layer above."""


@dataclass(frozen=True)
class LayerFigures:
    """The figures of a layer, with those of the layers inside it."""

    count: int
    """Equal layers that follow each other; the figures are those of each."""
    kind: str
    """Class of the layer."""
    shape: Shape
    """Shape of its first output; a dimension that follows the batch by its name."""
    parameters: int
    """Parameters; a tied matrix counts where it occurs first."""
    weight_flops: int
    """Operations of the forward pass in products of weights."""
    other_flops: int
    """Other operations of the forward pass."""
    kept_bytes: int
    """Bytes that the forward pass keeps for the backward pass, in single precision."""
    settings: Mapping[str, Any]
    """Plain values that the layer holds, such as num_heads."""


@dataclass(frozen=True)
class LayerContent(LayerFigures, NamedLayer):
    """A layer, or several equal ones that follow each other, and the layers inside it."""

    base: LayerFigures | None
    """The same layer of base; None if it has none."""
    layers: tuple["LayerContent", ...]
    """Layers inside it."""


@dataclass(frozen=True)
class InspectContent(Content):
    """The layers of a model, whatever depth is shown: aiayn inspect."""

    schema: ClassVar = "inspect/1"

    experiment: str
    """The experiment."""
    scale: str
    """The scale."""
    fidelity: str
    """The fidelity profile."""
    data: str
    """The corpus."""
    base: str
    """The experiment compared with."""
    batch: InspectedBatch
    """The batch."""
    sizes: Mapping[str, int]
    """Sizes of the model."""
    base_sizes: Mapping[str, int]
    """Sizes of base."""
    model: LayerContent
    """The model."""


def report_inspection(config: InspectConfig, output: Path | None) -> None:
    """Print the layers of the configuration's model, or write them to a .md or .json file."""
    show(document(config), output)


def document(config: InspectConfig) -> Document:
    """The tree, its totals, and base's."""
    composed = row_configuration(BASE, scale=config.identity.scale, fidelity=config.identity.fidelity)
    base = OmegaConf.to_object(composed.model)
    found = inspect_model(config, base)  # type: ignore[arg-type]
    tree = beside(folded(found.own, folds=config.folded), folded(found.base, folds=config.folded))
    names, base_names = ({sizes[name]: name for name in NAMED} for sizes in (found.sizes, found.base_sizes))
    lines = list(tree_lines(tree, config.depth, names, base_names))
    differs = any(line[-1] for line in lines)
    headings = ("<layer", "<output", *FIGURES, *(("<base",) if differs else ()))
    grid = Grid("Layers", headings, (tuple(line if differs else line[:-1] for line in lines),))
    identity = config.identity
    title = f"The model of {identity.experiment} at scale={identity.scale}"
    return Document(
        title,
        "Written by `aiayn inspect`.",
        [grid],
        [*remarks(found, is_base=not differs), *setting_remarks(config.model, base)],
        lead=f"{title}, for one batch.",
        remarks_title="The batch and the columns",
        terminal_grids=narrow(grid) if differs else (),
        content=InspectContent(
            experiment=identity.experiment,
            scale=identity.scale,
            fidelity=identity.fidelity,
            data=config.data.name,
            base=BASE,
            batch=found.batch,
            sizes=found.sizes,
            base_sizes=found.base_sizes,
            model=content(tree),
        ),
    )


def narrow(grid: Grid) -> Sequence[Grid]:
    """The tree with marks at layers that differ, and a table of these: both fit 80 columns."""
    (lines,) = grid.groups
    marked = tuple((f"{line[0]} {MARK}" if line[-1] else line[0], *line[1:-1]) for line in lines)
    path: list[str] = []
    differing = []
    for name, *_, base in lines:
        path[name.count(INDENT) :] = [name.removeprefix(INDENT * name.count(INDENT))]
        if base:
            differing.append(("/".join(path[1:]) or path[0], base.removeprefix(f"{MARK} ")))
    return Grid("", grid.headings[:-1], (marked,)), Grid("Differences", ("<layer", f"<in {BASE}"), (tuple(differing),))


def folded(layer: Layer, *, folds: bool) -> Node:
    """The tree of a layer, in which equal children that follow each other are one if `folds`."""
    groups: list[list[Layer]] = [[each] for each in layer.children]
    if folds:
        groups = [list(group) for _, group in groupby(layer.children, key=_fold_key)]
    nodes = (folded(group[0] if len(group) == 1 else mean(group), folds=folds) for group in groups)
    counted = tuple(replace(node, count=len(group)) for node, group in zip(nodes, groups, strict=True))
    return Node(layer, 1, counted)


def _fold_key(layer: Layer) -> tuple[Any, ...]:
    """Equal for layers that are folded: all but the name, and the memory, which the first of a stack has more of."""
    inside = tuple((child.name, _fold_key(child)) for child in layer.children)
    return layer.kind, layer.shape, layer.parameters, layer.weight_flops, layer.other_flops, inside


def mean(layers: Sequence[Layer]) -> Layer:
    """Layers that are alike as one, with the mean of their memory."""
    children = zip(*(layer.children for layer in layers), strict=True)
    kept = round(sum(layer.kept_bytes for layer in layers) / len(layers))
    return replace(layers[0], kept_bytes=kept, children=tuple(mean(each) for each in children))


def beside(own: Node, base: Node | None) -> Node:
    """The tree with base's node of the same name at each one."""
    theirs = {} if base is None else {node.layer.name: node for node in base.children}
    children = tuple(beside(child, theirs.get(child.layer.name)) for child in own.children)
    return replace(own, base=base, children=children)


def tree_lines(
    node: Node, depth: int | None, names: dict[int, str], base_names: dict[int, str], level: int = 0
) -> Iterator[tuple[str, ...]]:
    """The cells of each node, down to a depth; the last cell has the differences to base, and is empty without any."""
    indent = INDENT * level
    yield f"{indent}{node.name}", shape_text(node.layer, names), *node.figures(), base_text(node, names, base_names)
    if depth is not None and level >= depth:
        return
    for child in node.children:
        if child.has_content:
            yield from tree_lines(child, depth, names, base_names, level + 1)
    present = {child.layer.name for child in node.children if child.has_content}
    for child in () if node.base is None else node.base.children:
        if child.has_content and child.layer.name not in present:
            named = zip(FIGURES, child.figures(), strict=True)
            figures = ", ".join(f"{name} {figure}" for name, figure in named if figure)
            yield (f"{indent}{INDENT}({child.name})", "", "", "", "", f"{MARK} {figures}")


def shape_text(layer: Layer, names: dict[int, str]) -> str:
    """A shape, as in [source, d_model]."""
    sizes = (str(size) if isinstance(size, str) else names.get(size, f"{size:,}") for size in layer.shape)
    return f"[{', '.join(sizes)}]" if layer.shape else ""


def base_text(node: Node, names: dict[int, str], base_names: dict[int, str]) -> str:
    """The differences of base's node, after a mark; empty if there are none."""
    base = node.base
    if base is None:
        return f"{MARK} nothing"
    parts = [f"{base.count} x"] if base.count != node.count else []
    if base.layer.kind != node.layer.kind:
        parts.append(base.layer.kind)
    else:
        own = node.layer.settings
        parts += [
            f"{name} {value}"
            for name, value in base.layer.settings.items()
            if name in NAMED_SETTINGS and own.get(name) != value
        ]
    shapes = shape_text(node.layer, names), shape_text(base.layer, base_names)
    parts += [shapes[1]] if shapes[1] not in ("", shapes[0]) else []
    pairs = zip(FIGURES, node.figures(), base.figures(), strict=True)
    parts += [f"{name} {their or '0'}" for name, mine, their in pairs if mine != their]
    return f"{MARK} {', '.join(parts)}" if parts else ""


def short(number: float, *, binary: bool = False) -> str:
    """Three digits and a unit, as in 18.9M; of bytes in powers of 1024, as in 1.2G; empty for 0."""
    step = 1024 if binary else 1000
    if not number:
        return ""
    if number < step:
        return f"{number:.0f}"
    power = 1
    while number / step**power >= step - 0.5 and power < len(UNITS):
        power += 1
    number /= step**power
    digits = max(0, 2 - len(f"{number:.0f}") + 1)
    return f"{number:,.{digits}f}{UNITS[power - 1]}"


def remarks(found: Inspection, *, is_base: bool) -> Iterator[str]:
    """The batch, the sizes, the units and the totals."""
    batch, own = found.batch, found.own
    part = "" if batch.is_whole else ", its first sentences, on the CPU, since the model reads the lengths of its batch"
    yield (
        f"batch: {batch.sentences:,} sentences, source = {batch.source_tokens:,} tokens, target = "
        f"{batch.target_tokens:,}, the longest {batch.longest_source} and {batch.longest_target} "
        f"({batch.origin}{part}); {batch.per_step} such batch{'es' * (batch.per_step > 1)} a step"
    )
    pairs = ((name, size, found.base_sizes.get(name)) for name, size in found.sizes.items())
    sizes = (f"{name} = {size:,}{'' if base in (None, size) else f' (base {base:,})'}" for name, size, base in pairs)
    yield f"sizes: {', '.join(sizes)}; of n x a layer, the figures are those of each"
    yield (
        f"FLOPs: of the forward pass; {short(own.weight_flops)} in products of weights, whose training takes "
        f"{FORWARD_AND_BACKWARD} times as many (`aiayn plan`), {short(own.other_flops) or '0'} in others, pads included"
    )
    state = BYTES_OF_STATE * own.parameters
    yield (
        "memory: bytes that the forward pass keeps, in single precision; parameters, gradients and Adam's moments "
        f"take {short(state, binary=True)} more, {short(state + own.kept_bytes, binary=True)} in all"
    )
    if is_base:
        yield "no layer has other figures than base's"
    else:
        yield f"{MARK}: differs from {BASE} at the same scale and vocabulary"


def setting_remarks(own: object, base: object) -> Iterator[str]:
    """The settings of the model that are not base's: a layer's figures need not show them."""
    ours, theirs = vars(own), vars(base)
    parts = [
        f"{name} {ours[name]} (base {theirs[name]})" for name in ours if ours[name] != theirs.get(name, ours[name])
    ]
    if parts:
        yield f"settings: {', '.join(parts)}"


def content(node: Node) -> LayerContent:
    """A node and those below it, in a document for programs."""
    base = None if node.base is None else LayerFigures(**figures(node.base))
    return LayerContent(
        name=node.layer.name, **figures(node), base=base, layers=tuple(content(child) for child in node.children)
    )


def figures(node: Node) -> dict[str, Any]:
    """The fields of `LayerFigures`."""
    names = ("kind", "shape", "parameters", "weight_flops", "other_flops", "kept_bytes", "settings")
    return {"count": node.count, **{name: getattr(node.layer, name) for name in names}}
