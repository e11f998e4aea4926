"""The loss is cross entropy against smoothed targets, summed; the likelihood beside it is never smoothed."""

import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from aiayn.training.loss import token_losses

tokens = st.integers(1, 9)
vocabularies = st.integers(2, 30)
epsilons = st.one_of(st.just(0.0), st.floats(0.0, 0.99))
seeds = st.integers(0, 2**31)


def draw(tokens: int, vocabulary: int, seed: int, *, scale: float = 3.0) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    logits = scale * torch.randn(tokens, vocabulary, generator=generator)
    return logits.requires_grad_(), torch.randint(vocabulary, (tokens,), generator=generator)


@given(tokens, vocabularies, epsilons, seeds)
def test_value_and_gradient_are_torchs(tokens: int, vocabulary: int, epsilon: float, seed: int) -> None:
    logits, targets = draw(tokens, vocabulary, seed)
    ours = token_losses(logits, targets, label_smoothing=epsilon)
    theirs = F.cross_entropy(logits, targets, label_smoothing=epsilon, reduction="sum")
    torch.testing.assert_close(ours.smoothed, theirs)
    torch.testing.assert_close(ours.nll, F.cross_entropy(logits, targets, reduction="sum").detach())
    (our_gradient,) = torch.autograd.grad(ours.smoothed, logits)
    (their_gradient,) = torch.autograd.grad(theirs, logits)
    torch.testing.assert_close(our_gradient, their_gradient)
    assert not ours.nll.requires_grad


@given(tokens, vocabularies, epsilons, seeds)
def test_the_loss_of_a_batch_is_the_sum_over_its_tokens(
    tokens: int, vocabulary: int, epsilon: float, seed: int
) -> None:
    logits, targets = draw(tokens, vocabulary, seed)
    whole = token_losses(logits, targets, label_smoothing=epsilon)
    each = [token_losses(logits[i : i + 1], targets[i : i + 1], label_smoothing=epsilon) for i in range(tokens)]
    torch.testing.assert_close(torch.stack([loss.smoothed for loss in each]).sum(), whole.smoothed)
    torch.testing.assert_close(torch.stack([loss.nll for loss in each]).sum(), whole.nll)


@given(vocabularies, epsilons, seeds)
def test_large_logits_stay_finite(vocabulary: int, epsilon: float, seed: int) -> None:
    logits, targets = draw(4, vocabulary, seed, scale=1e6)
    losses = token_losses(logits, targets, label_smoothing=epsilon)
    assert torch.isfinite(losses.smoothed)
    assert torch.isfinite(torch.autograd.grad(losses.smoothed, logits)[0]).all()


@given(vocabularies, epsilons, seeds)
def test_half_precision_logits_are_summed_in_full_precision(vocabulary: int, epsilon: float, seed: int) -> None:
    logits, targets = draw(5, vocabulary, seed)
    half = logits.detach().bfloat16()
    losses = token_losses(half, targets, label_smoothing=epsilon)
    assert losses.smoothed.dtype == losses.nll.dtype == torch.float32
    assert losses.smoothed == token_losses(half.float(), targets, label_smoothing=epsilon).smoothed


def test_without_tokens_there_is_no_loss() -> None:
    losses = token_losses(torch.zeros(0, 7), torch.zeros(0, dtype=torch.int64), label_smoothing=0.1)
    assert losses.smoothed == losses.nll == 0.0
