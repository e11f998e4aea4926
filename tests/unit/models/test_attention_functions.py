"""Every attention function by its formula, and attention to flat tokens by a loop over sentences."""

import math
from typing import NamedTuple

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from aiayn.flat_tokens import Layout
from aiayn.models.attention import AttentionFunction, DotProduct, KeysValues, allowed_keys, attention
from aiayn.models.kernels.decoder_state import attend_few
from aiayn.models.kernels.fused_attention import local_attention
from aiayn.models.kernels.padded_view import PaddedView
from aiayn.models.kernels.sentence_context import SentenceContext
from aiayn.models.variants.attention import attention_function

NAMES = ["scaled_dot", "dot", "general", "additive", "concat"]
SIZES = st.integers(1, 4)
FILLERS = st.integers(0, 4)
SEEDS = st.integers(0, 2**32)


def made(name: str, *, num_heads: int, d_k: int) -> AttentionFunction:
    function = attention_function(name, num_heads=num_heads, d_k=d_k).double()
    for parameter in function.parameters():
        nn.init.normal_(parameter)
    return function


def naive_score(name: str, function: nn.Module, head: int, query: Tensor, key: Tensor) -> Tensor:
    """The formulas as the papers print them, for one query and one key."""
    if name == "scaled_dot":
        return query @ key / math.sqrt(len(query))
    if name == "dot":
        return query @ key
    if name == "general":
        return query @ function.get_parameter("general_weight")[head] @ key
    if name == "additive":
        return function.get_parameter("vector")[head] @ torch.tanh(query + key)
    joined = function.get_parameter("concat_weight")[head].T @ torch.cat([query, key])
    return function.get_parameter("additive.vector")[head] @ torch.tanh(joined)


class Heads(NamedTuple):
    """Queries, keys and values of flat tensors, with gradients."""

    query: Tensor
    keys: Tensor
    values: Tensor

    @classmethod
    def drawn(cls, queries: Layout, sources: Layout, *, num_heads: int, d_k: int, d_v: int) -> "Heads":
        shapes = ((queries, d_k), (sources, d_k), (sources, d_v))
        each = (torch.randn(len(of.positions), num_heads, d, dtype=torch.float64) for of, d in shapes)
        return cls(*(one.requires_grad_() for one in each))


def attend(
    function: AttentionFunction,
    query: Tensor,
    keys: Tensor,
    values: Tensor,
    *,
    queries: PaddedView,
    sources: PaddedView,
    dropout: float = 0.0,
    is_causal: bool = False,
    reach: int | None = None,
) -> Tensor:
    context = SentenceContext(queries, sources, is_causal=is_causal, reach=reach)
    return context.attend(function, query, KeysValues(keys, values), dropout=dropout)


def padded_scores(
    function: AttentionFunction, heads: Heads, view: PaddedView, *, is_causal: bool = False, reach: int | None = None
) -> Tensor:
    context = SentenceContext(view, view, is_causal=is_causal, reach=reach)
    return context.scores(function, heads.query, KeysValues(heads.keys, heads.values))


def attend_naively(
    name: str,
    function: nn.Module,
    heads: Heads,
    lengths: list[tuple[int, int]],
    *,
    is_causal: bool = False,
    reach: int | None = None,
) -> Tensor:
    """Of sentences with so many queries and keys: one query and one head at a time."""
    query, keys, values = heads
    rows, start, source_start = [], 0, 0
    for length, source_length in lengths:
        for position in range(length):
            visible = [
                source_start + place
                for place in range(source_length)
                if (place <= position or not is_causal) and (reach is None or abs(place - position) <= reach)
            ]
            for head in range(query.shape[1]):
                own = query[start + position, head]
                scores = torch.stack([naive_score(name, function, head, own, keys[j, head]) for j in visible])
                rows.append(torch.softmax(scores, dim=0) @ values[visible, head])
        start, source_start = start + length, source_start + source_length
    return torch.stack(rows).view(start, query.shape[1], -1)


def assert_same(result: Tensor, expected: Tensor, inputs: list[Tensor]) -> None:
    """In value and in gradients; the result may have fillers at its end."""
    result = result[: len(expected)]
    torch.testing.assert_close(result, expected, rtol=0, atol=1e-12)
    weights = torch.randn_like(result)
    ours, theirs = (
        torch.autograd.grad((each * weights).sum(), inputs, allow_unused=True, materialize_grads=True)
        for each in (result, expected)
    )
    torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-10)


@pytest.mark.parametrize("name", NAMES)
@given(SIZES, SIZES, SIZES, SIZES, SIZES, SEEDS)
@settings(max_examples=12)
def test_scores_are_the_formula_of_every_pair(
    name: str, batch: int, num_heads: int, queries: int, sources: int, d_k: int, seed: int
) -> None:
    torch.manual_seed(seed)
    function = made(name, num_heads=num_heads, d_k=d_k)
    query, keys = (torch.randn(batch, num_heads, length, d_k, dtype=torch.float64) for length in (queries, sources))
    expected = [
        naive_score(name, function, head, own, key)
        for sentence in range(batch)
        for head in range(num_heads)
        for own in query[sentence, head]
        for key in keys[sentence, head]
    ]
    scores = function.scores(query, keys)
    assert scores.shape == (batch, num_heads, queries, sources)
    torch.testing.assert_close(scores.flatten(), torch.stack(expected), rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", NAMES)
@given(st.lists(st.tuples(SIZES, SIZES), min_size=1, max_size=4), FILLERS, FILLERS, SIZES, SIZES, SIZES, SEEDS)
@settings(max_examples=12)
def test_each_sentence_attends_to_its_source(
    name: str,
    lengths: list[tuple[int, int]],
    fillers: int,
    source_fillers: int,
    num_heads: int,
    d_k: int,
    d_v: int,
    seed: int,
) -> None:
    torch.manual_seed(seed)
    function = made(name, num_heads=num_heads, d_k=d_k)
    of_queries, of_sources = zip(*lengths, strict=True)
    layout, source_layout = Layout.of(of_queries, fillers=fillers), Layout.of(of_sources, fillers=source_fillers)
    heads = Heads.drawn(layout, source_layout, num_heads=num_heads, d_k=d_k, d_v=d_v)
    queries, sources = PaddedView(layout), PaddedView(source_layout)
    result = attend(function, *heads, queries=queries, sources=sources)
    assert result.shape == (len(layout.positions), num_heads, d_v)
    assert_same(result, attend_naively(name, function, heads, lengths), [*heads, *function.parameters()])

    query = queries.pad(heads.query).transpose(1, 2)
    keys, values = (sources.pad(each).transpose(1, 2) for each in (heads.keys, heads.values))
    bias = torch.zeros_like(sources.is_token, dtype=torch.float64).masked_fill(~sources.is_token, -torch.inf)
    with torch.no_grad():
        few = queries.flatten(attend_few(function, query, keys, values, bias[:, None, None]).transpose(1, 2))
    torch.testing.assert_close(few[: queries.count], result.detach()[: queries.count], rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("is_causal", [False, True])
@given(st.lists(st.integers(1, 6), min_size=1, max_size=4), FILLERS, SIZES, SIZES, SIZES, SEEDS)
@settings(max_examples=12)
def test_each_sentence_attends_to_itself(
    name: str, is_causal: bool, lengths: list[int], fillers: int, num_heads: int, d_k: int, d_v: int, seed: int
) -> None:
    torch.manual_seed(seed)
    function = made(name, num_heads=num_heads, d_k=d_k)
    layout = Layout.of(lengths, fillers=fillers)
    heads, view = Heads.drawn(layout, layout, num_heads=num_heads, d_k=d_k, d_v=d_v), PaddedView(layout)
    result = attend(function, *heads, queries=view, sources=view, is_causal=is_causal)
    both = [(length, length) for length in lengths]
    expected = attend_naively(name, function, heads, both, is_causal=is_causal)
    assert_same(result, expected, [*heads, *function.parameters()])

    scores = padded_scores(function, heads, view, is_causal=is_causal)
    weighed = torch.matmul(torch.softmax(scores, dim=-1), view.pad(heads.values).transpose(1, 2))
    torch.testing.assert_close(view.flatten(weighed.transpose(1, 2))[: view.count], expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("is_causal", [False, True])
@given(st.lists(st.integers(1, 12), min_size=1, max_size=3), FILLERS, st.integers(1, 7), SIZES, SIZES, SEEDS)
@settings(max_examples=20)
def test_within_reach_each_sentence_attends_to_itself(
    is_causal: bool, lengths: list[int], fillers: int, reach: int, d_k: int, d_v: int, seed: int
) -> None:
    torch.manual_seed(seed)
    function = made("restricted", num_heads=2, d_k=d_k)
    layout = Layout.of(lengths, fillers=fillers)
    heads, view = Heads.drawn(layout, layout, num_heads=2, d_k=d_k, d_v=d_v), PaddedView(layout)
    result = attend(function, *heads, queries=view, sources=view, is_causal=is_causal, reach=reach)
    both = [(length, length) for length in lengths]
    expected = attend_naively("scaled_dot", function, heads, both, is_causal=is_causal, reach=reach)
    assert_same(result, expected, [*heads])

    scores = padded_scores(function, heads, view, is_causal=is_causal, reach=reach)
    assert bool((scores > -torch.inf).any(dim=-1)[view.is_token[:, None].expand(-1, 2, -1)].all())
    weighed = torch.matmul(torch.softmax(scores, dim=-1), view.pad(heads.values).transpose(1, 2))
    torch.testing.assert_close(view.flatten(weighed.transpose(1, 2))[: view.count], expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", [*NAMES, "restricted"])
@pytest.mark.parametrize("is_causal", [False, True])
def test_fillers_and_other_sentences_change_nothing(name: str, is_causal: bool) -> None:
    """Not even by numbers that are none."""
    torch.manual_seed(0)
    function, reach = made(name, num_heads=2, d_k=3), 2 if name == "restricted" else None
    alone, together = Layout.of([4]), Layout.of([4, 6, 1], fillers=5)
    heads = Heads.drawn(together, together, num_heads=2, d_k=3, d_v=4)
    view = PaddedView(alone)
    first = (each[:4] for each in heads)
    expected = attend(function, *first, queries=view, sources=view, is_causal=is_causal, reach=reach)
    with torch.no_grad():
        for each in heads:
            each[4:] = torch.nan
    view = PaddedView(together)
    result = attend(function, *heads, queries=view, sources=view, is_causal=is_causal, reach=reach)
    torch.testing.assert_close(result[:4], expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", [*NAMES, "restricted"])
def test_dropout_drops_weights_and_scales_the_others(name: str) -> None:
    """Lone positions have one weight in each head, which is 1."""
    torch.manual_seed(0)
    function, reach, layout = made(name, num_heads=8, d_k=3), 2 if name == "restricted" else None, Layout.of([1] * 500)
    heads, view = Heads.drawn(layout, layout, num_heads=8, d_k=3, d_v=2), PaddedView(layout)
    result = attend(function, *heads, queries=view, sources=view, reach=reach, dropout=0.25)
    is_dropped = (result == 0).all(dim=-1)
    torch.testing.assert_close(result[~is_dropped], heads.values[~is_dropped] / 0.75)
    assert abs(float(is_dropped.double().mean()) - 0.25) < 0.04  # 4,000 draws: six standard deviations


@pytest.mark.parametrize("reach", [None, 2])
def test_under_autocast_a_cpu_attends_in_single_precision(reach: int | None) -> None:
    torch.manual_seed(0)
    layout = Layout.of([4, 3])
    view = PaddedView(layout)
    heads = [torch.randn(7, 2, 8).bfloat16() for _ in range(3)]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        result = attend(made("scaled_dot", num_heads=2, d_k=8), *heads, queries=view, sources=view, reach=reach)
    exact = (each.float() for each in heads)
    expected = attend(made("scaled_dot", num_heads=2, d_k=8), *exact, queries=view, sources=view, reach=reach)
    torch.testing.assert_close(result, expected, rtol=0, atol=0)


class Noisy(AttentionFunction):
    """Dropout on the scores."""

    def scores(self, query: Tensor, keys: Tensor) -> Tensor:
        return torch.nn.functional.dropout(torch.matmul(query, keys.transpose(-1, -2)), 0.5)


def test_gradients_of_random_scores_are_those_of_the_scores_that_were_drawn() -> None:
    layout = Layout.of([4, 3])
    torch.manual_seed(0)
    heads, view = Heads.drawn(layout, layout, num_heads=2, d_k=3, d_v=2), PaddedView(layout)

    def result(query: Tensor) -> Tensor:
        torch.manual_seed(1)
        return attend(Noisy(), query, heads.keys, heads.values, queries=view, sources=view)

    assert torch.autograd.gradcheck(result, heads.query)


def test_a_dot_product_has_no_scores_of_its_own() -> None:
    """The kernels would not call them."""
    with pytest.raises(TypeError, match=r"Other\.scores: of a DotProduct they follow from scale and transform"):

        class Other(DotProduct):
            def scores(self, query: Tensor, keys: Tensor) -> Tensor:  # type: ignore[misc]
                return torch.matmul(query, keys.transpose(-1, -2)).exp()


class OnlyKeys(AttentionFunction):
    """Scores that ignore the query, as a view: all queries share their memory."""

    def scores(self, query: Tensor, keys: Tensor) -> Tensor:
        return keys.sum(dim=-1).unsqueeze(-2).expand(*query.shape[:-1], keys.shape[-2])


def test_few_queries_may_get_scores_that_share_memory() -> None:
    torch.manual_seed(0)
    query, keys, values = torch.randn(2, 3, 5, 4), torch.randn(2, 3, 6, 4), torch.randn(2, 3, 6, 4)
    bias = torch.randn(5, 6)
    weights = torch.softmax(keys.sum(dim=-1).unsqueeze(-2) + bias, dim=-1)
    torch.testing.assert_close(attend_few(OnlyKeys(), query, keys, values, bias), weights @ values)


@given(SIZES, SIZES, st.integers(1, 19), st.integers(1, 7), st.booleans(), SEEDS)
@settings(max_examples=40)
def test_a_restricted_neighbourhood_is_a_band_of_the_whole(
    batch: int, num_heads: int, length: int, reach: int, is_causal: bool, seed: int
) -> None:
    """Whatever is hidden; zero where all is."""
    torch.manual_seed(seed)
    query, keys, values = memory = [
        torch.randn(batch, num_heads, length, 3, dtype=torch.float64, requires_grad=True) for _ in range(3)
    ]
    is_token = torch.rand(batch, length) < 0.5
    distance = torch.arange(length) - torch.arange(length)[:, None]
    band = (distance.abs() <= reach) & ((distance <= 0) | (not is_causal))
    seen = (band & is_token[:, None])[:, None]

    result = local_attention(query, keys, values, reach=reach, is_token=is_token, is_causal=is_causal)
    scores = (query @ keys.transpose(2, 3) / math.sqrt(3)).masked_fill(~seen, -1e300)
    expected = torch.softmax(scores, dim=-1).masked_fill(~seen, 0.0) @ values
    assert_same(result, expected, memory)


def test_a_restricted_neighbourhood_never_makes_a_square() -> None:
    length, reach = 512, 4
    query, keys, values = (torch.randn(1, 1, length, 2) for _ in range(3))
    largest = 0

    class Watch(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
            nonlocal largest
            result = func(*args, **(kwargs or {}))
            if isinstance(result, Tensor):
                largest = max(largest, result.numel())
            return result

    with Watch():
        local_attention(query, keys, values, reach=reach)
    assert 0 < largest <= 8 * length * reach


@pytest.mark.parametrize("name", ["scaled_dot", "dot", "general"])
@pytest.mark.parametrize("is_causal", [True, False])
def test_fused_kernels_compute_equation_1(name: str, is_causal: bool) -> None:
    function = made(name, num_heads=2, d_k=4)
    layout = Layout.of([5, 3, 1])
    flat, view = Heads.drawn(layout, layout, num_heads=2, d_k=4, d_v=3), PaddedView(layout)
    padded = (view.pad(each).transpose(1, 2) for each in flat)
    allowed = allowed_keys(5, 5, view.is_token, is_causal=is_causal, device=view.is_token.device)
    stated = view.flatten(attention(function, *padded, allowed=allowed, dropout=0.0).transpose(1, 2))
    fused = attend(function, *flat, queries=view, sources=view, is_causal=is_causal)
    torch.testing.assert_close(fused, stated)
