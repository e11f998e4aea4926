"""Overrides replace the run's search settings; unavailable devices are refused."""

import dataclasses

import pytest
import torch

from aiayn.config.command_schema import EvaluateConfig, TranslateConfig
from aiayn.config.compose import compose_command
from aiayn.config.freeze import to_dataclass
from aiayn.config.schema import TrainConfig
from aiayn.errors import UserError
from aiayn.inference.opened_runs import merge_decoding, usable_device


def test_null_keeps_the_runs_own_setting() -> None:
    own = to_dataclass(compose_command("train"), TrainConfig).decoding
    nothing = to_dataclass(compose_command("translate", ["run=here"]), TranslateConfig).decoding
    assert merge_decoding(own, nothing) == own
    asked = to_dataclass(compose_command("translate", ["run=here", "decoding.beam_size=9"]), TranslateConfig).decoding
    assert merge_decoding(own, asked) == dataclasses.replace(own, beam_size=9)
    limited = to_dataclass(
        compose_command("evaluate", ["run=here", "decoding.limit_sentences=3"]), EvaluateConfig
    ).decoding
    assert merge_decoding(own, limited) == dataclasses.replace(own, limit_sentences=3)


def test_auto_is_cuda_where_there_is_any() -> None:
    assert usable_device("auto").type == ("cuda" if torch.cuda.is_available() else "cpu")
    assert usable_device("cpu") == torch.device("cpu")


@pytest.mark.parametrize("name", ["gpu", "cuda:", "cuda:99", "meta", "", "cpu:x"])
def test_other_devices_are_refused(name: str) -> None:
    with pytest.raises(UserError, match=f"^device={name}: "):
        usable_device(name)
