"""What a node of Ray tells of itself, and the answer where Ray is not installed."""

import importlib.util
from pathlib import Path

import pytest
from commands import Say
from tiny import TINY

from aiayn.sweep.ray_agent import Agent, interface_of, unseen


def test_the_interface_of_an_address() -> None:
    assert interface_of("127.0.0.1") == "lo"
    assert interface_of("203.0.113.1") is None


def test_folders_that_are_not_there(tmp_path: Path) -> None:
    assert unseen([str(tmp_path), str(tmp_path / "none")]) == [str(tmp_path / "none")]


def test_a_meeting_point_is_free() -> None:
    first, second = (Agent().meeting_point("127.0.0.1") for _ in range(2))
    assert 1024 <= first < 65536
    assert 1024 <= second < 65536


@pytest.mark.skipif(importlib.util.find_spec("ray") is not None, reason="Ray is installed")
def test_the_extra_is_named_where_ray_is_missing(say: Say) -> None:
    said = say("train", "-m", *TINY, "seed=1,2", "hydra/launcher=ray", "logger=none")
    assert said.refuses_by("hydra/launcher=ray: ray is not installed; pip install -e '.[ray]' in the checkout")
