import math

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from aiayn.models.attention_functions import AdditiveAttention, DotProductAttention, RestrictedAttention
from aiayn.models.keys_values import KeysValues

SIZES = st.integers(1, 4)


def functions(num_heads: int, d_k: int) -> dict[str, DotProductAttention | AdditiveAttention]:
    made: dict[str, DotProductAttention | AdditiveAttention] = {
        "scaled_dot": DotProductAttention(num_heads=num_heads, d_k=d_k),
        "dot": DotProductAttention(num_heads=num_heads, d_k=d_k, is_scaled=False),
        "general": DotProductAttention(num_heads=num_heads, d_k=d_k, is_scaled=False, has_matrix=True),
        "additive": AdditiveAttention(num_heads=num_heads, d_k=d_k),
        "concat": AdditiveAttention(num_heads=num_heads, d_k=d_k, has_matrix=True),
    }
    for function in made.values():
        for parameter in function.parameters():
            nn.init.normal_(parameter)
    return {name: function.double() for name, function in made.items()}


def naive_score(name: str, function: nn.Module, head: int, query: Tensor, key: Tensor) -> Tensor:
    """The formulas as the papers print them, for one query and one key."""
    if name == "scaled_dot":
        return query @ key / math.sqrt(len(query))
    if name == "dot":
        return query @ key
    if name == "general":
        return query @ function.get_parameter("between")[head] @ key
    vector = function.get_parameter("vector")[head]
    if name == "additive":
        return vector @ torch.tanh(query + key)
    return vector @ torch.tanh(function.get_parameter("joining")[head].T @ torch.cat([query, key]))


def attend_naively(name: str, function: nn.Module, query: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
    batch, num_heads, length, _ = query.shape
    rows = []
    for sentence in range(batch):
        for position in range(length):
            heads = []
            for head in range(num_heads):
                visible = mask[sentence, position].nonzero().squeeze(1).tolist()
                q = query[sentence, head, position]
                scores = torch.stack([naive_score(name, function, head, q, keys[sentence, head, j]) for j in visible])
                heads.append(torch.softmax(scores, dim=0) @ values[sentence, head, visible])
            rows.append(torch.cat(heads))
    return torch.stack(rows).view(batch, length, -1)


@pytest.mark.parametrize("name", ["scaled_dot", "dot", "general", "additive", "concat"])
@given(SIZES, SIZES, SIZES, SIZES, SIZES, SIZES, st.integers(0, 2**32))
@settings(max_examples=12)
def test_every_function_is_its_formula_with_values_and_gradients(
    name: str, batch: int, num_heads: int, length: int, memory_len: int, d_k: int, d_v: int, seed: int
) -> None:
    torch.manual_seed(seed)
    function = functions(num_heads, d_k)[name]
    query = torch.randn(batch, num_heads, length, d_k, dtype=torch.float64, requires_grad=True)
    keys = torch.randn(batch, num_heads, memory_len, d_k, dtype=torch.float64, requires_grad=True)
    values = torch.randn(batch, num_heads, memory_len, d_v, dtype=torch.float64, requires_grad=True)
    is_real = torch.rand(batch, memory_len) < 0.5
    is_real[:, torch.randint(memory_len, ())] = True
    mask = is_real[:, None].expand(batch, length, memory_len)
    inputs = [query, keys, values, *function.parameters()]

    result = function(query, KeysValues(keys, values), is_real=is_real)
    expected = attend_naively(name, function, query, keys, values, mask)
    torch.testing.assert_close(result, expected, rtol=0, atol=1e-12)
    weights = torch.randn_like(result)
    ours, theirs = (torch.autograd.grad((each * weights).sum(), inputs) for each in (result, expected))
    torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-10)

    bias = torch.zeros_like(mask, dtype=torch.float64).masked_fill(~mask, -torch.inf)[:, None]
    with torch.no_grad():
        few = function.from_few(query, KeysValues(keys, values), bias)
    torch.testing.assert_close(few, result.detach(), rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", ["scaled_dot", "dot", "general", "additive", "concat"])
def test_causal_is_the_mask_of_a_triangle(name: str) -> None:
    torch.manual_seed(0)
    function = functions(2, 3)[name]
    query, keys, values = (torch.randn(2, 2, 5, 3, dtype=torch.float64) for _ in range(3))
    triangle = torch.ones(5, 5, dtype=torch.bool).tril().expand(2, 5, 5)
    result = function(query, KeysValues(keys, values), is_causal=True)
    expected = attend_naively(name, function, query, keys, values, triangle)
    torch.testing.assert_close(result, expected, rtol=0, atol=1e-12)


@given(SIZES, SIZES, st.integers(1, 19), st.integers(1, 7), st.booleans(), st.integers(0, 2**32))
@settings(max_examples=40)
def test_a_restricted_neighbourhood_is_a_band_of_the_whole(
    batch: int, num_heads: int, length: int, reach: int, is_causal: bool, seed: int
) -> None:
    torch.manual_seed(seed)
    query, keys, values = (torch.randn(batch, num_heads, length, 3, dtype=torch.float64) for _ in range(3))
    for each in (query, keys, values):
        each.requires_grad_()
    lengths = torch.randint(1, length + 1, (batch,))
    is_real = torch.arange(length) < lengths[:, None]
    distance = torch.arange(length) - torch.arange(length)[:, None]
    band = (distance.abs() <= reach) & ((distance <= 0) | (not is_causal))
    memory = KeysValues(keys, values)

    result = RestrictedAttention(reach=reach)(query, memory, is_real=is_real, is_causal=is_causal)[is_real]
    seen = (band & is_real[:, None])[:, None]
    heads = F.scaled_dot_product_attention(query, keys, values, attn_mask=seen)
    expected = heads.transpose(1, 2).flatten(2)[is_real]
    torch.testing.assert_close(result, expected, rtol=0, atol=1e-12)
    weights = torch.randn_like(result)
    ours, theirs = (torch.autograd.grad((each * weights).sum(), memory) for each in (result, expected))
    torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-10)


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
        RestrictedAttention(reach=reach)(query, KeysValues(keys, values))
    assert 0 < largest <= 8 * length * reach
