"""The loss is cross entropy against smoothed targets, summed; the likelihood beside it is never smoothed.

The plain way is the oracle: all logits at once, torch's own cross entropy, autograd.
"""

import shutil

import pytest
import torch
import torch.nn.functional as F
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import Tensor

from aiayn.training import loss
from aiayn.training.loss import TokenLosses, output_losses, token_likelihoods

tokens = st.integers(1, 9)
vocabularies = st.integers(2, 30)
epsilons = st.one_of(st.just(0.0), st.floats(0.0, 0.99))
seeds = st.integers(0, 2**31)
chunks = st.integers(1, 300)

in_chunks = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


class Layer:
    """States, the output layer's matrix, its bias for odd seeds, and targets; negative ones do not count."""

    def __init__(self, tokens: int, vocabulary: int, seed: int, *, scale: float = 2.0, ignored: float = 0.3) -> None:
        generator = torch.Generator().manual_seed(seed)
        self.states = (scale * torch.randn(tokens, 4, generator=generator)).requires_grad_()
        self.weight = torch.randn(vocabulary, 4, generator=generator).requires_grad_()
        self.bias = torch.randn(vocabulary, generator=generator).requires_grad_() if seed % 2 else None
        self.targets = torch.randint(vocabulary, (tokens,), generator=generator)
        self.targets[torch.rand(tokens, generator=generator) < ignored] -= vocabulary

    @property
    def parts(self) -> tuple[Tensor, ...]:
        return (self.states, self.weight) if self.bias is None else (self.states, self.weight, self.bias)

    @property
    def logits(self) -> Tensor:
        return F.linear(self.states, self.weight, self.bias)

    def losses(self, epsilon: float) -> TokenLosses:
        return output_losses(self.states, self.weight, self.targets, label_smoothing=epsilon, bias=self.bias)

    def plainly(self, epsilon: float) -> Tensor:
        targets = self.targets.clamp(min=-1)
        return F.cross_entropy(self.logits, targets, label_smoothing=epsilon, reduction="sum", ignore_index=-1)


@in_chunks
@given(tokens, vocabularies, epsilons, seeds, chunks, chunks)
def test_values_and_gradients_equal_torchs_for_any_chunk_size(
    monkeypatch: pytest.MonkeyPatch, tokens: int, vocabulary: int, epsilon: float, seed: int, chunk: int, cached: int
) -> None:
    monkeypatch.setitem(loss.CHUNK_ENTRIES, "cpu", chunk)
    monkeypatch.setattr(loss, "CACHED_ENTRIES", cached)
    layer = Layer(tokens, vocabulary, seed)
    ours, theirs = layer.losses(epsilon), layer.plainly(epsilon)
    torch.testing.assert_close(ours.smoothed, theirs, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(ours.nll, layer.plainly(0.0).detach(), rtol=1e-5, atol=1e-5)
    assert not ours.nll.requires_grad
    factor = 0.37  # as if the sum were a part of something
    torch.testing.assert_close(
        torch.autograd.grad(factor * ours.smoothed, layer.parts),
        torch.autograd.grad(factor * theirs, layer.parts),
        rtol=1e-5,
        atol=1e-5,
    )


@in_chunks
@given(tokens, vocabularies, seeds, chunks)
def test_likelihoods_are_those_of_each_token(
    monkeypatch: pytest.MonkeyPatch, tokens: int, vocabulary: int, seed: int, chunk: int
) -> None:
    monkeypatch.setitem(loss.CHUNK_ENTRIES, "cpu", chunk)
    layer = Layer(tokens, vocabulary, seed, ignored=0.0)
    expected = F.cross_entropy(layer.logits, layer.targets, reduction="none")
    result = token_likelihoods(layer.states, layer.weight, layer.targets, bias=layer.bias)
    assert not result.requires_grad
    torch.testing.assert_close(result, expected.detach())


@given(vocabularies, epsilons, seeds)
def test_large_logits_stay_finite(vocabulary: int, epsilon: float, seed: int) -> None:
    layer = Layer(4, vocabulary, seed, scale=1e6)
    losses = layer.losses(epsilon)
    assert torch.isfinite(losses.smoothed)
    assert all(torch.isfinite(gradient).all() for gradient in torch.autograd.grad(losses.smoothed, layer.parts))


@given(vocabularies, epsilons, seeds)
def test_half_precision_products_are_summed_in_full_precision(vocabulary: int, epsilon: float, seed: int) -> None:
    layer = Layer(5, vocabulary, seed)
    exact = layer.losses(epsilon)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        half = layer.losses(epsilon)
    assert half.smoothed.dtype == half.nll.dtype == torch.float32
    assert half.smoothed.item() == pytest.approx(exact.smoothed.item(), rel=0.05, abs=0.2)
    for ours, theirs in zip(
        torch.autograd.grad(half.smoothed, layer.parts), torch.autograd.grad(exact.smoothed, layer.parts), strict=True
    ):
        assert ours.dtype == torch.float32
        torch.testing.assert_close(ours, theirs, rtol=0.1, atol=0.25)


@given(vocabularies, epsilons, seeds)
def test_states_of_half_precision_have_the_losses_of_the_same_states(
    vocabulary: int, epsilon: float, seed: int
) -> None:
    """As models have whose last layer is a product; others end in a normalization, which stays in single precision."""
    layer = Layer(7, vocabulary, seed)
    with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
        half = layer.states.bfloat16()
        expected, found = (
            output_losses(states, layer.weight, layer.targets, label_smoothing=epsilon, bias=layer.bias)
            for states in (half.float(), half)
        )
    torch.testing.assert_close(found, expected)


@pytest.mark.long
@pytest.mark.skipif(shutil.which("g++") is None, reason="compiling takes a compiler")
@pytest.mark.filterwarnings("ignore:.*torch.jit.script_method:DeprecationWarning")  # when torch loads its compiler
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_compiled_passes_over_the_logits_change_nothing(dtype: torch.dtype) -> None:
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=dtype != torch.float32):
        for rows in (5, 8):
            layer = Layer(rows, 23, seed=1)
            plain, compiled = (
                output_losses(
                    *(layer.states, layer.weight, layer.targets),
                    label_smoothing=0.1,
                    bias=layer.bias,
                    is_compiled=is_compiled,
                )
                for is_compiled in (False, True)
            )
            torch.testing.assert_close(compiled, plain)
            gradients = (torch.autograd.grad(each.smoothed, layer.parts) for each in (compiled, plain))
            for ours, theirs in zip(*gradients, strict=True):
                torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-6 if dtype == torch.float32 else 0.02)


def test_no_gradients_are_computed_without_need() -> None:
    layer = Layer(5, 11, 0)
    with torch.no_grad():
        losses = layer.losses(0.1)
    assert not losses.smoothed.requires_grad
    torch.testing.assert_close(losses.smoothed, layer.losses(0.1).smoothed.detach())


def test_a_second_backward_pass_is_refused() -> None:
    layer = Layer(5, 11, 0)
    losses = layer.losses(0.1)
    torch.autograd.backward(losses.smoothed)
    with pytest.raises(RuntimeError, match="second time"):
        torch.autograd.backward(losses.smoothed)


def test_no_targets_have_no_likelihoods() -> None:
    layer = Layer(0, 7, 0)
    assert len(token_likelihoods(layer.states, layer.weight, layer.targets)) == 0


@pytest.mark.parametrize("targets", [[], [-1, -100]])
def test_without_tokens_there_is_no_loss_and_no_gradient(targets: list[int]) -> None:
    layer = Layer(len(targets), 7, 0)
    layer.targets = torch.tensor(targets, dtype=torch.int64)
    losses = layer.losses(0.1)
    assert losses.smoothed == losses.nll == 0.0
    assert all(not gradient.any() for gradient in torch.autograd.grad(losses.smoothed, layer.parts))
