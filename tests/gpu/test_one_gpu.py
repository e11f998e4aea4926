"""A model on a GPU: it agrees with the CPU, attends by the intended kernels, and a search waits once a step.

The same tests run on the CPU, which shows mistakes of their own.
"""

import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import pytest
import torch
from reference_varlen import reference_varlen
from tiny_models import build, filled, loss_and_gradients, sentences, states_and_gradients
from torch import Tensor
from torch.profiler import ProfilerActivity, profile

from aiayn.decoding.beam_search import BeamSearch
from aiayn.flat_tokens import FlatTokens
from aiayn.models.kernels import flat_attention
from aiayn.models.transformer import Transformer
from aiayn.system.gpu import configure_gpus

# Libraries may warn on a GPU of what no CPU has shown.
pytestmark = pytest.mark.filterwarnings("default")

on_both = pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])


def model_of(**changes: Any) -> Transformer:
    """The tiny Transformer with heads as wide as the kernel for flat tensors asks for."""
    torch.manual_seed(0)
    return build(d_k=8, d_v=8, **changes)


def batch(device: str) -> list[FlatTokens]:
    torch.manual_seed(1)
    return [sentences(5, 9, 3, 9).to(device), sentences(7, 4, 8, 1).to(device)]


@on_both
@pytest.mark.parametrize("changes", [{}, {"attention": "additive"}, {"positions": "rotary"}, {"norm": "pre"}])
def test_losses_and_gradients_are_those_of_the_cpu(device: str, changes: dict[str, Any]) -> None:
    model = model_of(**changes).eval()
    expected, gradients = loss_and_gradients(model, *batch("cpu"))
    loss, found = loss_and_gradients(model.to(device), *batch(device))
    torch.testing.assert_close(loss.cpu(), expected)
    torch.testing.assert_close(tuple(each.cpu() for each in found), gradients, rtol=1e-4, atol=1e-4)


@on_both
def test_bf16_is_finite_and_near_single_precision(device: str) -> None:
    model = model_of().eval().to(device)
    expected, _ = loss_and_gradients(model, *batch(device))
    with torch.autocast(device, dtype=torch.bfloat16):
        loss, found = loss_and_gradients(model, *batch(device))
    assert all(bool(each.isfinite().all()) for each in found)
    torch.testing.assert_close(loss, expected, rtol=0.01, atol=0.0)


@on_both
@pytest.mark.parametrize("fillers", [(0, 0), (5, 3), (0, 40)])
@pytest.mark.parametrize("changes", [{}, {"attention": "general"}, {"positions": "rotary"}])
def test_bf16_without_padding_agrees_with_padded_attention(
    device: str, changes: dict[str, Any], fillers: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """On the CPU, by a plain form of the kernel that only GPUs have."""
    if device == "cpu":
        monkeypatch.setattr(flat_attention, "varlen_attention", reference_varlen)
        monkeypatch.setattr(flat_attention, "VARLEN_DEVICE", "cpu")
    model = model_of(**changes).eval().to(device)
    own = [filled(each, count).to(device) for each, count in zip(batch("cpu"), fillers, strict=True)]
    with torch.autocast(device, dtype=torch.bfloat16):
        found = states_and_gradients(model, *own)
        monkeypatch.setattr(flat_attention, "VARLEN_TYPES", ())
        expected = states_and_gradients(model, *batch(device))
    states, gradients = (
        [torch.cat([each.double().flatten() for each in side]) for side in (found[part], expected[part])]
        for part in (slice(1), slice(1, None))
    )
    for (ours, padded), most in ((states, 0.02), (gradients, 0.04)):
        assert 0 < (ours - padded).norm() < most * padded.norm()


@on_both
@pytest.mark.parametrize("positions", ["sinusoidal", "rotary"])
@pytest.mark.parametrize(
    ("is_half", "attention_dropout", "is_flat"), [(True, 0.0, True), (True, 0.1, False), (False, 0.0, False)]
)
def test_attention_takes_the_intended_kernel(
    device: str, positions: str, is_half: bool, attention_dropout: float, is_flat: bool
) -> None:
    model = model_of(attention_dropout=attention_dropout, positions=positions).to(device)
    configure_gpus(tf32=False)
    autocast = torch.autocast(device, dtype=torch.bfloat16, enabled=is_half)
    with profile(activities=[ProfilerActivity.CPU]) as profiled, autocast:
        loss_and_gradients(model, *batch(device))
    names = " ".join(event.key for event in profiled.key_averages())
    assert ("varlen_attn" in names) == (is_flat and device == "cuda")
    assert ("aten::scaled_dot_product_attention" in names) == (not is_flat or device == "cpu")
    assert "cudnn_attention" not in names


@pytest.fixture
def waits() -> Iterator[Callable[[], int]]:
    """The number of times that the host has waited for the GPU in this test; 0 without a GPU."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if torch.cuda.is_available():
            torch.cuda.set_sync_debug_mode("warn")
        yield lambda: sum("synchronizing CUDA operation" in str(each.message) for each in caught)
        if torch.cuda.is_available():
            torch.cuda.set_sync_debug_mode("default")


@on_both
@pytest.mark.parametrize("beam_size", [1, 3])
def test_a_step_of_a_search_waits_once(device: str, beam_size: int, waits: Callable[[], int]) -> None:
    """Unless it makes space or ends sentences, which few steps do."""
    model = model_of().eval().to(device)
    search = BeamSearch(beam_size=beam_size, length_penalty_alpha=0.6, start_id=1, eos_id=2, forbidden_ids=[0, 1])
    by_step: list[int] = []

    def step(tokens: Tensor, state: Any) -> tuple[Tensor, Tensor]:
        by_step.append(waits())
        return model.step(tokens, state)

    found = search.batch(step, model.begin(batch(device)[0]), torch.tensor([25] * 4, device=device))
    assert len(found) == 4
    assert Counter(after - before for before, after in pairwise(by_step)).most_common(1)[0][0] == (device == "cuda")
