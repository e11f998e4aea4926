import math

import pytest
import torch

from aiayn.models.kernels.log_sum_exp import CHUNK, log_sum_exp


@pytest.mark.parametrize("shape", [(3, 4, 101), (1, 1, 1), (2, CHUNK // 2 + 1), (0, 4, 7), (1, 2, CHUNK + 3)])
@pytest.mark.parametrize("scale", [0.01, 1.0, 100.0])
def test_equals_that_of_torch(shape: tuple[int, ...], scale: float) -> None:
    torch.manual_seed(0)
    logits = scale * torch.randn(shape)
    before = logits.clone()
    expected = torch.logsumexp(logits.double(), dim=-1).float()
    torch.testing.assert_close(log_sum_exp(logits), expected, rtol=2e-6, atol=2e-6)
    assert torch.equal(logits, before)


def test_other_types_are_summed_in_float32() -> None:
    logits = torch.randn(3, 50, dtype=torch.bfloat16)
    assert torch.equal(log_sum_exp(logits), torch.logsumexp(logits.float(), dim=-1))


def test_model_that_diverged_shows() -> None:
    assert math.isnan(log_sum_exp(torch.tensor([[0.0, math.nan, 1.0]])))
