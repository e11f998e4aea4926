import pytest
import torch
from tiny_models import architecture

from aiayn.models.feed_forward import FeedForward
from aiayn.models.layers import Residual


def test_feed_forward_is_equation_2() -> None:
    torch.manual_seed(0)
    network = FeedForward(d_model=6, d_ff=10)
    for parameter in network.parameters():
        torch.nn.init.normal_(parameter)
    states = torch.randn(2, 3, 6)
    w1, b1, w2, b2 = network.inner.weight.T, network.inner.bias, network.output.weight.T, network.output.bias
    torch.testing.assert_close(network(states), (states @ w1 + b1).clamp(min=0) @ w2 + b2)


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_residual_normalises_after_the_sum_or_before_the_sub_layer(norm: str) -> None:
    torch.manual_seed(0)
    around = Residual(architecture(d_model=8, norm=norm))
    states, output = torch.randn(2, 3, 8), torch.randn(2, 3, 8)
    normalise = torch.nn.LayerNorm(8, eps=1e-6)
    before, after = around.before(states), around.after(states, output)
    torch.testing.assert_close(before, normalise(states) if norm == "pre" else states)
    torch.testing.assert_close(after, states + output if norm == "pre" else normalise(states + output))


def test_residual_drops_the_output_and_never_the_states() -> None:
    torch.manual_seed(0)
    around = Residual(architecture(d_model=8, dropout=0.25, norm="pre"))
    states, output = torch.randn(50, 40, 8), torch.ones(50, 40, 8)
    added = around.after(states, output) - states
    dropped = added.abs() < 1e-5
    torch.testing.assert_close(added[~dropped], torch.full_like(added[~dropped], 1 / 0.75), rtol=0, atol=1e-5)
    assert abs(float(dropped.float().mean()) - 0.25) < 0.02  # 16,000 draws: six standard deviations
    torch.testing.assert_close(around.eval().after(states, output), states + output)
