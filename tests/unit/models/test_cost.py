"""What a Transformer costs is what torch counts in a real one."""

from typing import Any, Protocol

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from aiayn.config.model_schema import Attention, Normalization, Positions
from aiayn.models.architecture import Architecture
from aiayn.models.cost import BYTES_OF_STATE, HALF, SINGLE, Cost
from aiayn.models.transformer import Transformer, count_parameters
from aiayn.training.loss import output_losses

counts = st.integers(0, 10**12)
fast = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=15)
sizes = st.integers(1, 9)
architectures = st.builds(
    Architecture,
    d_model=st.integers(1, 9).map(lambda half: 2 * half),
    d_ff=sizes,
    num_layers=st.integers(1, 3),
    num_heads=st.integers(1, 4),
    d_k=sizes,
    d_v=sizes,
    dropout=st.just(0.1),
    positions=st.sampled_from([kind for kind in Positions if kind is not Positions.rotary]),
    norm=st.sampled_from(["post", "pre"]),
    projection_bias=st.booleans(),
    layer_norm_epsilon=st.just(1e-6),
    max_positions=st.integers(1, 40),
    neighbourhood=st.just(32),
    attention=st.sampled_from([*Attention]),
    normalization=st.sampled_from([*Normalization]),
    tied_embeddings=st.booleans(),
)


class Build(Protocol):
    """Builds a model with some settings changed."""

    def __call__(self, **changes: Any) -> Transformer: ...


class Settle(Protocol):
    """The tiny architecture with some settings changed."""

    def __call__(self, **changes: Any) -> Architecture: ...


@settings(max_examples=40)
@given(architecture=architectures, vocabulary_size=st.integers(1, 50))
def test_parameters_are_those_of_the_model(architecture: Architecture, vocabulary_size: int) -> None:
    with torch.device("meta"):
        model = Transformer(architecture, vocabulary_size=vocabulary_size)
    assert Cost(architecture, vocabulary_size).parameters == count_parameters(model)


def counted(model: Transformer, *, source_len: int, target_len: int, sentences: int) -> int:
    """Operations of the matrices in one forward pass; attention's own products are batched ones, and left out."""
    source = torch.ones(sentences, source_len, dtype=torch.int64)
    target = torch.ones(sentences, target_len, dtype=torch.int64)
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        model.double()(source, target)  # whose products it knows by name
    operations = counter.get_flop_counts()["Global"]
    return sum(operations.get(name, 0) for name in (torch.ops.aten.mm, torch.ops.aten.addmm))


@fast
@given(source_len=st.integers(1, 9), target_len=st.integers(1, 9), sentences=st.integers(2, 3), bias=st.booleans())
def test_it_is_three_times_the_forward_pass(
    build: Build, source_len: int, target_len: int, sentences: int, bias: bool
) -> None:
    model = build(d_k=3, d_v=5, projection_bias=bias).eval()
    flops = model.cost.training_flops(source_tokens=sentences * source_len, target_tokens=sentences * target_len)
    assert flops == 3 * counted(model, source_len=source_len, target_len=target_len, sentences=sentences)


@pytest.mark.parametrize("change", [{"positions": "learned"}, {"norm": "pre"}, {"projection_bias": True}])
def test_what_multiplies_no_token_costs_nothing(build: Build, change: dict[str, Any]) -> None:
    plain, changed = build(), build(**change)
    assert changed.cost.training_flops(source_tokens=5, target_tokens=7) == plain.cost.training_flops(
        source_tokens=5, target_tokens=7
    )


@fast
@given(first=st.tuples(counts, counts), second=st.tuples(counts, counts))
def test_costs_add_up(build: Build, first: tuple[int, int], second: tuple[int, int]) -> None:
    cost = build().cost
    both = cost.training_flops(source_tokens=first[0] + second[0], target_tokens=first[1] + second[1])
    apart = [cost.training_flops(source_tokens=source, target_tokens=target) for source, target in (first, second)]
    assert both == pytest.approx(sum(apart))


def kept(model: Transformer, *, sentences: int, source_len: int, target_len: int) -> int:
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

    source = torch.ones(sentences, source_len, dtype=torch.int64)
    target = torch.ones(sentences, target_len, dtype=torch.int64)
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        states, packing = model.decode(target, model.encode(source))
        targets = packing.pack_targets(target, pad_id=model.pad_id)
        losses = output_losses(states, model.output_weight, targets, label_smoothing=0.1, ignored_id=model.pad_id)
    assert losses.smoothed.requires_grad
    return sum(storages.values())


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"dropout": 0.0},
        {"num_layers": 3},
        {"d_ff": 1536},
        {"num_heads": 2},
        {"d_k": 48, "d_v": 48},
        {"d_model": 96},
    ],
    ids=str,
)
@pytest.mark.parametrize(("source_len", "target_len"), [(24, 24), (8, 40), (40, 8)])
def test_kept_memory_is_what_autograd_holds(
    architecture: Settle, change: dict[str, Any], source_len: int, target_len: int
) -> None:
    shape = architecture(**{"d_model": 256, "d_ff": 1024, "d_k": 64, "d_v": 64, "dropout": 0.1} | change)
    model = Transformer(shape, vocabulary_size=900)
    said = model.cost.kept_bytes(source_tokens=8 * source_len, target_tokens=8 * target_len, of=SINGLE)
    assert said == pytest.approx(kept(model, sentences=8, source_len=source_len, target_len=target_len), rel=0.03)


def test_half_precision_saves_memory_and_parameters_cost_theirs(architecture: Settle) -> None:
    cost = Cost(architecture(dropout=0.1, d_model=512, d_ff=2048, d_k=64, d_v=64), vocabulary_size=1000)
    single, half = (cost.training_bytes(source_tokens=5000, target_tokens=5000, of=of) for of in (SINGLE, HALF))
    assert half < single
    embeddings = 4 * 1000 * 512  # their gradient is made by the loss already
    without_tokens = cost.training_bytes(source_tokens=0, target_tokens=0, of=SINGLE)
    assert without_tokens == BYTES_OF_STATE * cost.parameters + embeddings
