"""`gpu` and `gpu(2)` state how many CUDA devices a test needs."""

import pytest
import torch


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test that needs more devices than there are."""
    for marker in item.iter_markers("gpu"):
        (needed,) = marker.args or (1,)
        if torch.cuda.device_count() < needed:
            pytest.skip(f"CUDA devices: {torch.cuda.device_count()} of {needed}")
