"""The cost of training is what torch counts in the matrices of one forward pass, three times."""

from typing import Any, Protocol

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch.utils.flop_counter import FlopCounterMode

from aiayn.models.cost import training_flops
from aiayn.models.transformer import Transformer

counts = st.integers(0, 10**12)
fast = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=15)


class Build(Protocol):
    """Builds a model with some settings changed."""

    def __call__(self, **changes: Any) -> Transformer: ...


def counted(model: Transformer, *, source_len: int, target_len: int, sentences: int) -> int:
    """Operations of the matrices in one forward pass; attention's own products are batched ones, and left out."""
    source = torch.ones(sentences, source_len, dtype=torch.int64)
    target = torch.ones(sentences, target_len, dtype=torch.int64)
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        model(source, target)
    operations = counter.get_flop_counts()["Global"]
    return sum(operations.get(name, 0) for name in (torch.ops.aten.mm, torch.ops.aten.addmm))


@fast
@given(source_len=st.integers(1, 9), target_len=st.integers(1, 9), sentences=st.integers(2, 3), bias=st.booleans())
def test_it_is_three_times_the_forward_pass(
    build: Build, source_len: int, target_len: int, sentences: int, bias: bool
) -> None:
    model = build(d_k=3, d_v=5, projection_bias=bias).eval()
    flops = training_flops(model, source_tokens=sentences * source_len, target_tokens=sentences * target_len)
    assert flops == 3 * counted(model, source_len=source_len, target_len=target_len, sentences=sentences)


@pytest.mark.parametrize("change", [{"positions": "learned"}, {"norm": "pre"}, {"projection_bias": True}])
def test_what_multiplies_no_token_costs_nothing(build: Build, change: dict[str, Any]) -> None:
    plain, changed = build(), build(**change)
    assert training_flops(changed, source_tokens=5, target_tokens=7) == training_flops(
        plain, source_tokens=5, target_tokens=7
    )


@fast
@given(first=st.tuples(counts, counts), second=st.tuples(counts, counts))
def test_costs_add_up(build: Build, first: tuple[int, int], second: tuple[int, int]) -> None:
    model = build()
    both = training_flops(model, source_tokens=first[0] + second[0], target_tokens=first[1] + second[1])
    apart = [training_flops(model, source_tokens=source, target_tokens=target) for source, target in (first, second)]
    assert both == pytest.approx(sum(apart))
