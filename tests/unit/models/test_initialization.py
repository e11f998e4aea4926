import math

import pytest
import torch

from aiayn.models.initialization import projection, table


@pytest.mark.parametrize("blocks", [(96,), (64, 32, 128)])
def test_each_block_is_xavier_uniform_on_its_own(blocks: tuple[int, ...]) -> None:
    torch.manual_seed(0)
    linear = projection(80, *blocks, bias=True)
    assert linear.weight.shape == (sum(blocks), 80)
    for block, weight in zip(blocks, torch.split(linear.weight.detach(), list(blocks)), strict=True):
        bound = math.sqrt(6 / (80 + block))
        assert 0.99 * bound < float(weight.abs().max()) <= bound
        assert float(weight.std()) == pytest.approx(bound / math.sqrt(3), rel=0.05)
        assert abs(float(weight.mean())) < 0.05 * bound
    assert not linear.bias.any()


def test_rows_of_a_table_have_length_one() -> None:
    torch.manual_seed(0)
    rows = table(500, 64).detach()
    assert float(rows.std()) == pytest.approx(1 / 8, rel=0.02)
    assert float(rows.norm(dim=1).mean()) == pytest.approx(1, rel=0.02)
