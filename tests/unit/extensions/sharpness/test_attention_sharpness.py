"""Logits' variance and weights' entropy, by a plain loop and by what the paper's footnote says of them."""

import math
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_models import build, chosen, sentences
from torch import Tensor

from aiayn.extensions.sharpness.attention_sharpness import Sharpness, attention_sharpness, sharpness
from aiayn.models.attention import AttentionFunction, DotProduct
from aiayn.models.attention_weights import attention_scores, attention_weights
from aiayn.models.variants.attention import AdditiveAttention

LENGTHS = st.lists(st.tuples(st.integers(1, 6), st.integers(1, 6)), min_size=1, max_size=4)


def one_by_one(scores: Tensor, weights: Tensor) -> Iterator[tuple[int, int, float, float]]:
    """Layer, head, variance and entropy of every query that has a choice."""
    for layer, of_layer in enumerate(scores):
        for sentence, of_sentence in enumerate(of_layer):
            for head, of_head in enumerate(of_sentence):
                for query, row in enumerate(of_head):
                    own = weights[layer, sentence, head, query]
                    seen = [key for key, score in enumerate(row.tolist()) if score > -math.inf]
                    if len(seen) < 2 or own.sum() == 0:
                        continue
                    entropy = -sum(own[key].item() * own[key].log().item() for key in seen) / math.log(len(seen))
                    yield layer, head, row[seen].var(correction=0).item(), entropy


@pytest.mark.parametrize(
    "changes", [{}, {"attention": "additive"}, {"attention": "restricted", "neighbourhood": 4}], ids=str
)
@given(LENGTHS, st.integers(0, 2**32))
@settings(max_examples=12, deadline=None)
def test_means_over_the_queries_that_have_a_choice(
    changes: dict[str, Any], lengths: list[tuple[int, int]], seed: int
) -> None:
    torch.manual_seed(seed)
    model = build(**changes).double().eval()
    source, target_input = (sentences(*side) for side in zip(*lengths, strict=True))
    scores = attention_scores(model, source, target_input)
    weights = attention_weights(model, source, target_input)
    for found, *both in zip(attention_sharpness(model, source, target_input), scores, weights, strict=True):
        rows = list(one_by_one(*both))
        assert found.queries * found.variance.numel() == len(rows)
        for layer in range(2):
            for head in range(4):
                own = [row for row in rows if row[:2] == (layer, head)]
                for name, place in (("variance", 2), ("entropy", 3)):
                    expected = sum(row[place] for row in own) / max(len(own), 1)
                    assert getattr(found, name)[layer, head].item() == pytest.approx(expected, abs=1e-9)


@given(LENGTHS, LENGTHS, st.integers(0, 2**32))
@settings(max_examples=12, deadline=None)
def test_batches_add_up(
    one: list[tuple[int, int]],
    another: list[tuple[int, int]],
    seed: int,
) -> None:
    torch.manual_seed(seed)
    model = build().double().eval()
    source, target_input = (sentences(*side) for side in zip(*one, *another, strict=True))
    whole = attention_sharpness(model, source, target_input)
    rows = range(len(one) + len(another))
    parts = [
        attention_sharpness(model, chosen(source, part), chosen(target_input, part))
        for part in (rows[: len(one)], rows[len(one) :])
    ]
    for together, first, second in zip(whole, *parts, strict=True):
        added = first + second
        assert together.queries == added.queries
        torch.testing.assert_close(together.variance, added.variance, rtol=0, atol=1e-9)
        torch.testing.assert_close(together.entropy, added.entropy, rtol=0, atol=1e-9)


def of_random_components(function: AttentionFunction, d_k: int) -> Sharpness:
    query, keys = torch.randn(2, 16, 1, 64, d_k)
    with torch.no_grad():
        scores = function.scores(query, keys)
    return sharpness(scores[None], torch.ones(16, 64, dtype=torch.bool))


def test_the_footnote_of_section_3_2_1() -> None:
    """Components with mean 0 and variance 1: the variance of an unscaled product is d_k, that of a scaled one is 1."""
    torch.manual_seed(0)
    entropies = []
    for d_k in (4, 16, 64, 256):
        scaled, unscaled = (of_random_components(DotProduct(scale=scale), d_k) for scale in (d_k**-0.5, 1.0))
        assert scaled.variance.item() == pytest.approx(1, rel=0.1)
        assert unscaled.variance.item() == pytest.approx(d_k, rel=0.1)
        assert scaled.entropy.item() == pytest.approx(0.89, abs=0.03), "whatever d_k is"
        entropies.append(unscaled.entropy.item())
        additive = of_random_components(AdditiveAttention(num_heads=1, d_k=d_k), d_k)
        assert additive.variance.item() < 1, "tanh keeps what it sums within bounds"
    assert entropies == sorted(entropies, reverse=True)
    assert entropies[-1] < 0.15 < 0.6 < entropies[0]


def test_the_bounds() -> None:
    even = sharpness(torch.zeros(1, 1, 1, 1, 5), torch.ones(1, 1, dtype=torch.bool))
    assert even.variance.item() == 0
    assert even.entropy.item() == pytest.approx(1)
    alone = sharpness(torch.tensor([0.0, 0.0, 1e30]).view(1, 1, 1, 1, 3), torch.ones(1, 1, dtype=torch.bool))
    assert alone.entropy.item() == 0
    nothing = sharpness(torch.full((1, 1, 1, 1, 3), -torch.inf), torch.ones(1, 1, dtype=torch.bool))
    assert nothing == Sharpness(0, nothing.variance, nothing.entropy)
    assert (nothing.variance.item(), nothing.entropy.item()) == (0, 0)
