"""Derivatives of NumPy arrays by the chain rule, for the few operations of a Transformer."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]
Pull: TypeAlias = Callable[[Array], Array]
"""The gradient of a parent, given that of the result."""


class Node:
    """An array, the nodes that it was computed from, and the functions that pass gradients to them."""

    def __init__(self, value: Array, *parents: "tuple[Node, Pull]") -> None:
        self.value, self.parents = value, parents

    def __add__(self, other: "Node") -> "Node":
        pulls = [(each, _summed_to(each.value.shape)) for each in (self, other)]
        return Node(self.value + other.value, *pulls)

    def __mul__(self, other: "Node") -> "Node":
        one, two = _summed_to(self.value.shape), _summed_to(other.value.shape)
        return Node(
            self.value * other.value,
            (self, lambda gradient: one(gradient * other.value)),
            (other, lambda gradient: two(gradient * self.value)),
        )

    def __matmul__(self, other: "Node") -> "Node":
        """Products of matrices, which are the last two dimensions."""
        one, two = _summed_to(self.value.shape), _summed_to(other.value.shape)
        return Node(
            self.value @ other.value,
            (self, lambda gradient: one(gradient @ other.value.swapaxes(-1, -2))),
            (other, lambda gradient: two(self.value.swapaxes(-1, -2) @ gradient)),
        )

    def __pow__(self, exponent: float) -> "Node":
        slope = exponent * self.value ** (exponent - 1)
        return Node(self.value**exponent, (self, lambda gradient: gradient * slope))

    def __getitem__(self, key: Any) -> "Node":
        """Parts of an array, or rows by an array of their numbers."""

        def pull(gradient: Array) -> Array:
            whole = np.zeros_like(self.value)
            np.add.at(whole, key, gradient)
            return whole

        return Node(self.value[key], (self, pull))

    def exp(self) -> "Node":
        result = np.exp(self.value)
        return Node(result, (self, lambda gradient: gradient * result))

    def log(self) -> "Node":
        return Node(np.log(self.value), (self, lambda gradient: gradient / self.value))

    def relu(self) -> "Node":
        return Node(np.maximum(self.value, 0), (self, lambda gradient: gradient * (self.value > 0)))

    def total(self) -> "Node":
        """The sum over the last dimension, which is kept with size 1."""
        return Node(
            self.value.sum(-1, keepdims=True), (self, lambda gradient: np.broadcast_to(gradient, self.value.shape))
        )

    def reshape(self, *shape: int) -> "Node":
        return Node(self.value.reshape(shape), (self, lambda gradient: gradient.reshape(self.value.shape)))

    def swap(self, first: int, second: int) -> "Node":
        """Two dimensions exchanged."""
        return Node(self.value.swapaxes(first, second), (self, lambda gradient: gradient.swapaxes(first, second)))


def constant(value: Any) -> Node:
    """Without parents."""
    return Node(np.asarray(value, np.float64))


def gradients(result: Node, wanted: Iterable[Node]) -> list[Array]:
    """The derivatives of a scalar by each of the nodes; zeros where it does not depend on one."""
    found = {id(result): np.ones_like(result.value)}
    for node in reversed(_in_order(result)):
        for parent, pull in node.parents:
            found[id(parent)] = found.get(id(parent), np.zeros_like(parent.value)) + pull(found[id(node)])
    return [found.get(id(node), np.zeros_like(node.value)) for node in wanted]


def _in_order(result: Node) -> Sequence[Node]:
    """All nodes that a result was computed from, each after its parents."""
    ordered: dict[int, Node] = {}

    def visit(node: Node) -> None:
        if id(node) not in ordered:
            for parent, _ in node.parents:
                visit(parent)
            ordered[id(node)] = node

    visit(result)
    return list(ordered.values())


def _summed_to(shape: tuple[int, ...]) -> Pull:
    """Undo the broadcasting of an operand: sum its gradient over the dimensions that it did not have."""

    def pull(gradient: Array) -> Array:
        gradient = gradient.sum(axis=tuple(range(gradient.ndim - len(shape))))
        stretched = tuple(place for place, size in enumerate(shape) if size == 1 and gradient.shape[place] != 1)
        summed: Array = gradient.sum(axis=stretched, keepdims=True)
        return summed

    return pull
