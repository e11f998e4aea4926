"""The closed form of a Transformer's cost is what torch counts in a real one."""

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_models import architecture
from torch import Tensor

from aiayn.builders.cost import has_closed_form, transformer_cost
from aiayn.builders.models import create_model
from aiayn.config.model_schema import Activation, Attention, Normalization, Positions, TransformerConfig
from aiayn.flat_tokens import FlatTokens
from aiayn.models.cost import BYTES_OF_STATE, HALF, SINGLE, ModelCost
from aiayn.models.measured_cost import measured_cost
from aiayn.models.translation_model import TranslationModel, count_parameters
from aiayn.training.loss import output_losses

sizes = st.integers(1, 9)
architectures = st.builds(
    architecture,
    d_model=st.integers(1, 9).map(lambda half: 2 * half),
    d_ff=sizes,
    num_layers=st.integers(1, 3),
    num_heads=st.integers(1, 4),
    d_k=sizes,
    d_v=sizes,
    dropout=st.just(0.1),
    positions=st.sampled_from([kind for kind in Positions if kind not in (Positions.rotary, Positions.concatenated)]),
    norm=st.sampled_from(["post", "pre"]),
    projection_bias=st.booleans(),
    layer_norm_epsilon=st.just(1e-6),
    max_positions=st.integers(40, 80),
    attention=st.sampled_from([Attention.scaled_dot, Attention.dot]),
    normalization=st.just(Normalization.layer),
    tied_embeddings=st.just(True),
    position_offset=st.integers(0, 3),
    activation=st.sampled_from(Activation),
    output_bias=st.booleans(),
    target_space_embedding=st.booleans(),
)


@settings(max_examples=25)
@given(architecture=architectures, vocabulary_size=st.integers(1, 50))
def test_the_closed_form_is_what_torch_counts(architecture: TransformerConfig, vocabulary_size: int) -> None:
    closed = transformer_cost(architecture, vocabulary_size=vocabulary_size)
    counted = measured_cost(lambda rows: create_model(architecture, rows=rows), vocabulary_size=vocabulary_size)
    assert (closed.parameters, closed.source_weights, closed.target_weights) == (
        counted.parameters,
        counted.source_weights,
        counted.target_weights,
    )


@pytest.mark.parametrize("attention", [Attention.general, Attention.additive, Attention.concat])
def test_a_variant_has_the_parameters_of_the_model(attention: Attention) -> None:
    shape = architecture(attention=attention)
    assert not has_closed_form(shape)
    counted = measured_cost(lambda rows: create_model(shape, rows=rows), vocabulary_size=23)
    assert counted.parameters == count_parameters(create_model(shape, rows=23))


def kept(model: TranslationModel[Any], *, sentences: int, source_len: int, target_len: int) -> int:
    """Bytes that autograd holds between the forward and the backward pass, parameters aside."""
    weights = {parameter.untyped_storage().data_ptr() for parameter in model.parameters()}
    storages: dict[int, int] = {}
    held: list[Tensor] = []  # while they live, no address is used twice

    def pack(tensor: Tensor) -> Tensor:
        held.append(tensor)
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in weights:
            storages[storage.data_ptr()] = storage.nbytes()
        return tensor

    source, target = (FlatTokens.of([[1] * length] * sentences) for length in (source_len, target_len))
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        losses = output_losses(model.states(source, target), model.output_weight, target.ids, label_smoothing=0.1)
    assert losses.smoothed.requires_grad
    return sum(storages.values())


def cost_of(shape: TransformerConfig, *, rows: int) -> ModelCost:
    """In closed form, or measured where there is none."""
    if has_closed_form(shape):
        return transformer_cost(shape, vocabulary_size=rows)
    return measured_cost(lambda rows: create_model(shape, rows=rows), vocabulary_size=rows)


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"dropout": 0.0},
        {"num_layers": 3},
        {"d_ff": 1536},
        {"activation": "swish"},
        {"num_heads": 2},
        {"d_k": 48, "d_v": 48},
        {"d_model": 96},
        {"activation_dropout": 0.2},
        {"activation_dropout": 0.2, "activation": "swish"},
        {"positions": Positions.rotary},
        {"attention": Attention.restricted, "neighbourhood": 8},
    ],
    ids=str,
)
@pytest.mark.parametrize(("source_len", "target_len"), [(24, 24), (8, 40), (40, 8)])
def test_kept_memory_is_what_autograd_holds(change: dict[str, Any], source_len: int, target_len: int) -> None:
    shape = architecture(**{"d_model": 256, "d_ff": 1024, "d_k": 64, "d_v": 64, "dropout": 0.1} | change)
    model = create_model(shape, rows=900)
    said = cost_of(shape, rows=900).kept_bytes(source_tokens=8 * source_len, target_tokens=8 * target_len, of=SINGLE)
    assert said == pytest.approx(kept(model, sentences=8, source_len=source_len, target_len=target_len), rel=0.03)


@pytest.mark.parametrize("dropout", [0.0, 0.1])
def test_measured_memory_is_that_of_the_closed_form(dropout: float) -> None:
    shape = architecture(d_model=256, d_ff=1024, d_k=64, d_v=64, dropout=dropout, activation_dropout=dropout)
    closed = transformer_cost(shape, vocabulary_size=900)
    measured = measured_cost(lambda rows: create_model(shape, rows=rows), vocabulary_size=900)
    for side in ("source_kept", "target_kept"):
        expected, found = getattr(closed, side), getattr(measured, side)
        assert found.bytes(SINGLE) == pytest.approx(expected.bytes(SINGLE), rel=0.03)
        assert found.masks == pytest.approx(expected.masks, rel=0.03)


def test_half_precision_saves_memory_and_parameters_cost_theirs() -> None:
    cost = transformer_cost(architecture(dropout=0.1, d_model=512, d_ff=2048, d_k=64, d_v=64), vocabulary_size=1000)
    single, half = (cost.training_bytes(source_tokens=5000, target_tokens=5000, of=of) for of in (SINGLE, HALF))
    assert half < single
    embeddings = 4 * 1000 * 512  # their gradient is made by the loss already
    without_tokens = cost.training_bytes(source_tokens=0, target_tokens=0, of=SINGLE)
    assert without_tokens == BYTES_OF_STATE * cost.parameters + embeddings
