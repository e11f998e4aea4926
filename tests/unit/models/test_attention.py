import math

import pytest
import torch
from reference_varlen import reference_varlen
from torch import Tensor

from aiayn.flat_tokens import Layout
from aiayn.models.kernels import flat_attention
from aiayn.models.kernels.padded_view import PaddedView
from aiayn.models.kernels.sentence_context import SentenceContext
from aiayn.models.multi_head_attention import CrossAttention, SelfAttention


def attend_naively(query: Tensor, keys: Tensor, values: Tensor, lengths: list[int]) -> Tensor:
    """Equation 1 over earlier positions, one query and one head at a time."""
    rows, start = [], 0
    for length in lengths:
        for token in range(start, start + length):
            heads = []
            for head in range(query.shape[1]):
                scores = keys[start : token + 1, head] @ query[token, head] / math.sqrt(query.shape[2])
                weights = scores.exp() / scores.exp().sum()
                heads.append(weights @ values[start : token + 1, head])
            rows.append(torch.cat(heads))
        start += length
    return torch.stack(rows)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize(("d_k", "d_v"), [(4, 4), (3, 5)])
def test_self_attention_projects_each_head_from_its_own_rows(d_k: int, d_v: int, bias: bool) -> None:
    torch.manual_seed(0)
    heads, lengths = 2, [4, 1, 3]
    attention = SelfAttention(d_model=6, num_heads=2, d_k=d_k, d_v=d_v, bias=bias).double()
    for parameter in attention.parameters():
        torch.nn.init.normal_(parameter)
    states = torch.randn(sum(lengths), 6, dtype=torch.float64)

    rows = [d_k] * heads + [d_k] * heads + [d_v] * heads
    inputs = attention.query_key_value
    projected = [states @ weight.T for weight in torch.split(inputs.weight, rows)]
    if bias:
        projected = [one + shift for one, shift in zip(projected, torch.split(inputs.bias, rows), strict=True)]
    query, keys, values = (torch.stack(projected[i : i + heads], dim=1) for i in range(0, 3 * heads, heads))
    expected = attention.output(attend_naively(query, keys, values, lengths))

    view = PaddedView(Layout.of(lengths))
    result = attention(states, SentenceContext(view, view, is_causal=True))
    torch.testing.assert_close(result, expected, rtol=0, atol=1e-12)


def test_cross_attention_to_itself_is_self_attention() -> None:
    torch.manual_seed(0)
    own = SelfAttention(d_model=6, num_heads=2, d_k=3, d_v=5, bias=True)
    cross = CrossAttention(d_model=6, num_heads=2, d_k=3, d_v=5, bias=True)
    for name in ("weight", "bias"):
        together = own.query_key_value.get_parameter(name)
        torch.nn.init.normal_(together)
        parts = together.data.tensor_split([2 * 3])
        cross.query.get_parameter(name).data, cross.key_value.get_parameter(name).data = parts
    cross.output.load_state_dict(own.output.state_dict())
    states, view = torch.randn(7, 6), PaddedView(Layout.of([3, 4]))
    context = SentenceContext(view, view)
    torch.testing.assert_close(cross(states, context, cross.keys_values(states)), own(states, context))


@pytest.mark.parametrize("kind", [SelfAttention, CrossAttention])
def test_projections_have_biases_only_when_asked(kind: type[SelfAttention | CrossAttention]) -> None:
    for bias in (True, False):
        attention = kind(d_model=6, num_heads=2, d_k=3, d_v=5, bias=bias)
        assert any(name.endswith("bias") for name, _ in attention.named_parameters()) == bias


@pytest.mark.parametrize(
    ("width", "takes"), [(8, True), (64, True), (256, True), (4, False), (20, False), (264, False)]
)
def test_the_kernel_for_flat_tensors_takes_multiples_of_8_up_to_256(
    monkeypatch: pytest.MonkeyPatch, width: int, takes: bool
) -> None:
    monkeypatch.setattr(flat_attention, "VARLEN_DEVICE", "cpu")
    monkeypatch.setattr(flat_attention, "varlen_attention", reference_varlen)
    heads = torch.zeros(3, 2, width, dtype=torch.bfloat16)
    assert flat_attention.takes_flat(heads, heads, dropout=0.0) == takes
