import math

import pytest
import torch

from aiayn.models.initialization import projection, table


def test_a_projection_is_xavier_uniform_as_a_whole() -> None:
    torch.manual_seed(0)
    linear = projection(80, 224, bias=True)
    bound = math.sqrt(6 / (80 + 224))
    weight = linear.weight.detach()
    assert weight.shape == (224, 80)
    assert 0.99 * bound < float(weight.abs().max()) <= bound
    assert float(weight.std()) == pytest.approx(bound / math.sqrt(3), rel=0.02)
    assert abs(float(weight.mean())) < 0.05 * bound
    assert not linear.bias.any()


def test_rows_of_a_table_have_length_one() -> None:
    torch.manual_seed(0)
    rows = table(500, 64).detach()
    assert float(rows.std()) == pytest.approx(1 / 8, rel=0.02)
    assert float(rows.norm(dim=1).mean()) == pytest.approx(1, rel=0.02)
