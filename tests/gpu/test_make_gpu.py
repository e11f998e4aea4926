"""`make gpu` with tiny sizes on a GPU."""

from pathlib import Path

import pytest
from gpu_bench import kept, measure

pytestmark = [pytest.mark.gpu, pytest.mark.filterwarnings("default")]


def test_a_profile_counts_what_the_cpu_asks_of_the_gpu(tmp_path: Path) -> None:
    assert measure(tmp_path, "profile", device="cuda") == 0
    (found,) = kept(tmp_path, "profile").values()
    assert found["launches a step"] > 100
    assert 0 < found["GPU busy"] <= 1


def test_the_gpu_agrees_with_the_cpu(tmp_path: Path) -> None:
    assert measure(tmp_path, "agreement", device="cuda") == 0
    (found,) = kept(tmp_path, "agreement").values()
    assert found["loss, relative"] < 1e-5
    assert found["gradients, relative"] < 1e-3
    assert found["bf16 without padding: loss"] < 1e-3
    assert 0 < found["bf16 without padding: gradients"] < 0.2
