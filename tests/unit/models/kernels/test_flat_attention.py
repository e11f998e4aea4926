"""Attention without padding, by a plain form of the kernel that only GPUs have, gives what attention with it gives."""

import inspect
import subprocess
import sys
from typing import Any

import pytest
import torch
from reference_varlen import reference_varlen
from tiny_models import build, filled, states_and_gradients
from torch import Tensor

from aiayn.flat_tokens import FlatTokens, Layout
from aiayn.models.attention import DotProduct
from aiayn.models.kernels import flat_attention

SOURCES, TARGETS = [[3, 4, 5], [6, 7], [8]], [[1, 5], [1, 6, 7, 9], [1]]


@pytest.fixture
def lengths_taken(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """Replaces torch's kernel by a plain one for CPUs; the tokens of queries and keys at each of its calls."""
    taken: list[tuple[int, int]] = []

    def kernel(query: Tensor, key: Tensor, *others: Any, **settings: Any) -> Tensor:
        taken.append((len(query), len(key)))
        return reference_varlen(query, key, *others, **settings)

    monkeypatch.setattr(flat_attention, "varlen_attention", kernel)
    monkeypatch.setattr(flat_attention, "VARLEN_DEVICE", "cpu")
    return taken


@pytest.mark.parametrize("changes", [{}, {"attention": "general"}, {"positions": "rotary"}, {"norm": "pre"}], ids=str)
def test_states_and_gradients_are_those_with_padding_whatever_fills_the_batch(
    lengths_taken: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch, changes: dict[str, Any]
) -> None:
    torch.manual_seed(0)
    model = build(d_k=8, d_v=8, **changes).double()
    source, target = FlatTokens.of(SOURCES), FlatTokens.of(TARGETS)
    expected = states_and_gradients(model, source, target)
    assert not lengths_taken, "the kernel is for half precision"
    monkeypatch.setattr(flat_attention, "VARLEN_TYPES", (torch.float64,))
    for of_source, of_target in ((0, 0), (5, 3), (0, 3), (5, 0), (40, 40)):
        found = states_and_gradients(model, filled(source, of_source), filled(target, of_target))
        own, read = len(target.ids) + of_target, len(source.ids) + of_source
        uses = [(read, read)] * 2 + [(own, own), (own, read)] * 2  # of two layers each
        assert lengths_taken == uses
        lengths_taken.clear()
        torch.testing.assert_close(found, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("is_causal", [True, False])
def test_the_installed_torch_takes_the_arguments(monkeypatch: pytest.MonkeyPatch, is_causal: bool) -> None:
    varlen = pytest.importorskip("torch.nn.attention.varlen", reason="torch before 2.10 has no such kernel")
    if flat_attention.taken_kernel(varlen.varlen_attn) is None:
        pytest.skip("torch 2.10 has another kernel")
    signature = inspect.signature(varlen.varlen_attn)

    def kernel(*arguments: Any, **settings: Any) -> Tensor:
        names = [*signature.bind(*arguments, **settings).arguments]
        assert names[:7] == ["query", "key", "value", "cu_seq_q", "cu_seq_k", "max_q", "max_k"]
        return reference_varlen(*arguments, **settings)

    monkeypatch.setattr(flat_attention, "varlen_attention", kernel)
    torch.manual_seed(0)
    heads, layout = torch.randn(6, 2, 8), Layout.of([3, 1], fillers=2)
    found = flat_attention.flat_attention(
        DotProduct(scale=0.3), heads, heads, heads, layout, layout, is_causal=is_causal
    )
    assert torch.equal(found[0], heads[0]) == is_causal, "the first token of three"
    assert torch.equal(found[3], heads[3]), "the only one of its sentence"


def test_the_kernel_of_torch_2_10_which_takes_neither_scale_nor_window_is_not_used() -> None:
    def older(query: Tensor, key: Tensor, value: Tensor, *others: Any, is_causal: bool = False) -> Tensor:
        raise AssertionError

    assert flat_attention.taken_kernel(older) is None
    assert flat_attention.taken_kernel(reference_varlen) is reference_varlen


@pytest.mark.skipif(bool(torch.version.cuda or torch.version.hip), reason="this torch is built for GPUs")
def test_a_command_that_does_not_train_imports_no_compiler_of_torch() -> None:
    script = "import sys, aiayn.inference.translation; sys.exit('torch._dynamo' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
