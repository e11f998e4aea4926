"""The traced layers add up to what the closed forms and `aiayn plan` state."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_models import architecture

from aiayn.builders.cost import transformer_cost
from aiayn.builders.models import create_model
from aiayn.config.model_schema import TransformerConfig
from aiayn.extensions.baselines.schema import Cell, RecurrentAttention, RecurrentConfig
from aiayn.flat_tokens import FlatTokens
from aiayn.models.cost import SINGLE
from aiayn.models.layer_tree import Layer, named_shapes, probe_batches, traced
from aiayn.models.measured_cost import measured_cost

ROWS = 900


def layers(shape: Any, source: list[int], target: list[int], device: str = "meta") -> Layer:
    with torch.device(device):
        model = create_model(shape, rows=ROWS)
    model = model.double() if device == "cpu" else model
    batch = (FlatTokens.of([[1] * length for length in lengths]) for lengths in (source, target))
    tree, *probed = (traced(model, *sides) for sides in (tuple(batch), *probe_batches()))
    return named_shapes(tree, probed)


def every(layer: Layer) -> list[Layer]:
    return [layer, *(each for child in layer.children for each in every(child))]


lengths = st.lists(st.integers(1, 12), min_size=3, max_size=3)


@settings(max_examples=15)
@given(
    shape=st.builds(
        replace,
        st.just(architecture(dropout=0.1)),
        num_layers=st.integers(1, 3),
        num_heads=st.integers(1, 3),
        d_ff=st.integers(1, 9),
        d_k=st.integers(1, 5),
        norm=st.sampled_from(["pre", "post"]),
        projection_bias=st.booleans(),
        output_bias=st.booleans(),
    ),
    source=lengths,
    target=lengths,
)
@pytest.mark.long
def test_parameters_and_operations_are_those_of_the_closed_form(
    shape: TransformerConfig, source: list[int], target: list[int]
) -> None:
    tree, cost = layers(shape, source, target), transformer_cost(shape, vocabulary_size=ROWS)
    assert tree.parameters == cost.parameters
    flops = cost.training_flops(source_tokens=sum(source), target_tokens=sum(target))
    assert 3 * tree.weight_flops == flops


@pytest.mark.parametrize(
    "change", [{}, {"dropout": 0.0}, {"num_heads": 2, "d_k": 128, "d_v": 128}, {"d_ff": 1536}], ids=str
)
def test_memory_is_that_of_the_closed_form(change: dict[str, Any]) -> None:
    shape = architecture(**{"d_model": 256, "d_ff": 1024, "d_k": 64, "d_v": 64, "dropout": 0.1} | change)
    tree = layers(shape, [24] * 8, [20] * 8)
    stated = transformer_cost(shape, vocabulary_size=ROWS).kept_bytes(source_tokens=192, target_tokens=160, of=SINGLE)
    assert tree.kept_bytes == pytest.approx(stated, rel=0.03)


@pytest.mark.parametrize("attention", RecurrentAttention)
def test_a_model_that_needs_values_is_traced_on_the_cpu(attention: RecurrentAttention) -> None:
    common: dict[str, Any] = {"d_model": 16, "num_layers": 2, "dropout": 0.1, "max_positions": 99}
    shape = RecurrentConfig(**common, kind="recurrent", cell=Cell.lstm, attention=attention)
    with pytest.raises(NotImplementedError):
        layers(shape, [5, 5], [6, 6])
    tree = layers(shape, [5, 5], [6, 6], device="cpu")
    cost = measured_cost(lambda rows: create_model(shape, rows=rows), vocabulary_size=ROWS)
    assert tree.parameters == cost.parameters
    per_sentence = 3 * tree.weight_flops - cost.training_flops(source_tokens=10, target_tokens=12)
    assert 0 <= per_sentence <= 0.02 * 3 * tree.weight_flops, "what is done once a sentence is not in the closed form"


def test_shapes_have_names_that_follow_the_batch() -> None:
    tree = layers(architecture(num_layers=1, dropout=0.1), [3, 4], [7, 2])
    shapes = {layer.name: layer.shape for layer in every(tree)}
    assert shapes["embedding"] == ("source", 16)
    assert shapes["key_value"][0] == "source"
    assert shapes["output layer"] == ("target", ROWS)
    (decoder,) = (layer for layer in tree.children if layer.name == "decoder")
    assert decoder.children[0].shape == ("target", 16)


def test_a_layer_holds_what_its_children_hold() -> None:
    for layer in every(layers(architecture(num_layers=2), [3, 4], [7, 2])):
        if layer.children:
            assert layer.parameters == sum(child.parameters for child in layer.children)
            assert layer.weight_flops >= sum(child.weight_flops for child in layer.children)
            assert layer.kept_bytes >= sum(child.kept_bytes for child in layer.children)
