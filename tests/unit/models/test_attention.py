import math

import pytest
import torch
from tiny_models import architecture
from torch import Tensor

from aiayn.models.attention import CrossAttention, SelfAttention
from aiayn.models.packing import Packed, Packing


def attend_naively(query: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
    """Equation 1, one head of one sentence and one query at a time."""
    batch, num_heads, length, d_k = query.shape
    result = torch.zeros(batch, length, num_heads, values.shape[-1], dtype=query.dtype)
    for sentence in range(batch):
        for head in range(num_heads):
            for position in range(length):
                visible = mask[sentence, position]
                scores = keys[sentence, head, visible] @ query[sentence, head, position] / math.sqrt(d_k)
                weights = scores.exp() / scores.exp().sum()
                result[sentence, position, head] = weights @ values[sentence, head, visible]
    return result.flatten(2)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize(("d_k", "d_v"), [(4, 4), (3, 5)])
def test_self_attention_projects_each_head_from_its_own_rows(d_k: int, d_v: int, bias: bool) -> None:
    torch.manual_seed(0)
    heads, d_model, length = 2, 6, 4
    sizes = architecture(d_model=d_model, num_heads=heads, d_k=d_k, d_v=d_v, projection_bias=bias)
    attention = SelfAttention(sizes).double()
    for parameter in attention.parameters():
        torch.nn.init.normal_(parameter)
    states = torch.randn(3, length, d_model, dtype=torch.float64)

    rows = [d_k] * heads + [d_k] * heads + [d_v] * heads
    weights = torch.split(attention.query_key_value.weight, rows)
    projected = [states @ weight.T for weight in weights]
    if bias:
        biases = torch.split(attention.query_key_value.bias, rows)
        projected = [states + shift for states, shift in zip(projected, biases, strict=True)]
    query, keys, values = (torch.stack(projected[i : i + heads], dim=1) for i in range(0, 3 * heads, heads))
    causal = torch.ones(length, length, dtype=torch.bool).tril().expand(3, -1, -1)
    expected = attention.output(attend_naively(query, keys, values, causal))

    packing = Packing(3, length, None)
    result = packing.unpack(attention(packing.pack(states), packing, is_causal=True))
    torch.testing.assert_close(result, expected, rtol=0, atol=1e-12)


def test_cross_attention_to_itself_is_self_attention() -> None:
    torch.manual_seed(0)
    sizes = architecture(d_model=6, num_heads=2, d_k=3, d_v=5, projection_bias=True)
    own, cross = SelfAttention(sizes), CrossAttention(sizes)
    queries = own.widths[0]
    cross.query.weight.data, cross.key_value.weight.data = own.query_key_value.weight.data.tensor_split([queries])
    cross.output.load_state_dict(own.output.state_dict())
    states = torch.randn(2, 4, 6)
    packing = Packing.of(torch.tensor([[True, True, True, False], [True, True, True, True]]))
    packed = packing.pack(states)

    crossed = cross(packed, packing, cross.keys_values(Packed(packed, packing)), is_real=packing.is_real)
    torch.testing.assert_close(crossed, own(packed, packing))


def test_projections_have_biases_only_when_asked() -> None:
    for kind in (SelfAttention, CrossAttention):
        for bias in (True, False):
            attention = kind(architecture(projection_bias=bias))
            assert any(name.endswith("bias") for name, _ in attention.named_parameters()) == bias
