import pytest
import torch

from aiayn.models.layers import FeedForward, Residual


def test_feed_forward_is_equation_2() -> None:
    torch.manual_seed(0)
    network = FeedForward(d_model=6, d_ff=10)
    for parameter in network.parameters():
        torch.nn.init.normal_(parameter)
    states = torch.randn(2, 3, 6)
    w1, b1, w2, b2 = network.inner.weight.T, network.inner.bias, network.output.weight.T, network.output.bias
    torch.testing.assert_close(network(states), (states @ w1 + b1).clamp(min=0) @ w2 + b2)


@pytest.mark.parametrize("adds", [True, False])
@pytest.mark.parametrize("is_pre", [True, False])
def test_residual_normalises_after_the_sum_or_before_the_sub_layer(is_pre: bool, adds: bool) -> None:
    torch.manual_seed(0)
    norm, sublayer = torch.nn.LayerNorm(8), torch.nn.Linear(8, 8)
    torch.nn.init.normal_(norm.weight)
    residual = Residual(d_model=8, dropout=0.0, normalize=lambda _: norm, is_pre=is_pre, adds=adds)
    states = torch.randn(2, 3, 8)
    own = states if adds else torch.zeros_like(states)
    expected = own + sublayer(norm(states)) if is_pre else norm(own + sublayer(states))
    torch.testing.assert_close(residual(states, sublayer), expected)


def test_residual_drops_the_output_and_never_the_states() -> None:
    torch.manual_seed(0)
    residual, states = Residual(d_model=8, dropout=0.25, is_pre=True), torch.randn(50, 40, 8)
    added = residual(states, torch.ones_like) - states
    dropped = added.abs() < 1e-5
    torch.testing.assert_close(added[~dropped], torch.full_like(added[~dropped], 1 / 0.75), rtol=0, atol=1e-5)
    assert abs(float(dropped.float().mean()) - 0.25) < 0.02  # 16,000 draws: six standard deviations
    torch.testing.assert_close(residual.eval()(states, torch.ones_like), states + 1)
