"""Every experiment on a device other than the CPU: nothing mixes devices or types, and the host does not wait."""

from collections import Counter
from dataclasses import replace
from functools import cache
from itertools import pairwise
from typing import Any

import pytest
import torch
from fake_device import DEVICE, fake_device
from omegaconf import OmegaConf
from tiny_models import loss_and_gradients
from torch import Tensor

from aiayn.builders.architecture import architecture_of
from aiayn.config import store
from aiayn.config.compose import compose_command
from aiayn.config.model_schema import ModelConfig
from aiayn.decoding.beam_search import BeamSearch
from aiayn.flat_tokens import FlatTokens
from aiayn.models.architecture import AnyArchitecture
from aiayn.models.baselines.recurrent import RecurrentTranslator
from aiayn.models.construction import create_model
from aiayn.models.translation_model import TranslationModel

SOURCE, TARGET = [[3, 4, 5, 6], [7, 8], [9, 10, 11]], [[1, 5], [1, 6, 7, 8], [1]]

OWN_LAYERS = (
    *("attention/", "baselines/", "positions/", "structure/"),
    *("fidelity/biases", "fidelity/zero_start", "fidelity/target_space", "table3/base", "table3/e_learned"),
)
"""Experiments with layers that no other has; the rest differ from these in sizes, data or training."""

every_experiment = pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name.startswith(OWN_LAYERS) else pytest.mark.long)
        for name in store.options("experiment")
    ],
)

PACKING = Counter({"to the host": 2, "from the host": 1})
"""Waits of a recurrent encoder: torch sorts the lengths on the host, where cuDNN reads them. Its layers are one
operation of a GPU, which casts for itself: the fake device's does not, so these models are left out in bfloat16."""


@cache
def architecture(name: str) -> AnyArchitecture:
    """An experiment's at scale=nano, with one layer."""
    config = OmegaConf.to_object(compose_command("train", [f"experiment={name}", "scale=nano"]).model)
    assert isinstance(config, ModelConfig)
    return replace(architecture_of(config), num_layers=1)


def build(name: str) -> TranslationModel[Any]:
    """An experiment's model with 23 tokens, in evaluation mode."""
    torch.manual_seed(3)
    return create_model(architecture(name), rows=23).eval()


def batch(device: torch.device) -> list[FlatTokens]:
    return [FlatTokens.of(each).to(device) for each in (SOURCE, TARGET)]


@every_experiment
def test_a_training_step_never_waits_and_gives_the_gradients_of_the_cpu(name: str) -> None:
    model = build(name)
    expected, gradients = loss_and_gradients(model, *batch(torch.device("cpu")))
    is_recurrent = isinstance(model, RecurrentTranslator)
    for mode in ("float32", "dropout") if is_recurrent else ("float32", "dropout", "bfloat16"):
        with fake_device() as device:
            model.to(DEVICE).train(mode == "dropout")
            there = batch(DEVICE)
            device.waits.clear()
            with torch.autocast(DEVICE.type, dtype=torch.bfloat16, enabled=mode == "bfloat16"):
                loss, found = loss_and_gradients(model, *there)
            assert device.waits == (PACKING if is_recurrent else Counter()), mode
            assert loss.device == DEVICE
            loss, found = loss.cpu(), tuple(each.cpu() for each in found)
        assert all(bool(each.isfinite().all()) for each in found)
        if mode == "float32":
            torch.testing.assert_close(loss, expected)
            torch.testing.assert_close(found, gradients, rtol=1e-4, atol=1e-5)
        if mode == "bfloat16":
            torch.testing.assert_close(loss, expected, rtol=0.01, atol=0.0)
            assert float(loss.detach()) != float(expected.detach()), "nothing was rounded"
            assert {each.dtype for each in found} == {torch.float32}
            one, other = (torch.cat([each.flatten() for each in side]) for side in (found, gradients))
            assert torch.cosine_similarity(one, other, dim=0) > 0.99


@pytest.mark.parametrize("beam_size", [1, 3])
def test_a_step_of_a_search_by_base_waits_once(beam_size: int) -> None:
    check_search("table3/base", beam_size=beam_size)


@every_experiment
def test_a_step_of_a_search_waits_once(name: str) -> None:
    check_search(name, beam_size=2)


def check_search(name: str, *, beam_size: int) -> None:
    """The device finds what the CPU finds. A step waits once, unless it makes space or ends sentences."""
    model = build(name)
    search = BeamSearch(beam_size=beam_size, length_penalty_alpha=0.6, start_id=1, eos_id=2, forbidden_ids=[0, 1])
    waits_by_step: list[int] = []

    def outputs(step: Any, device: torch.device) -> list[tuple[int, list[tuple[int, ...]]]]:
        with torch.inference_mode():
            begun = iter([(model.begin(batch(device)[0]), torch.tensor([6] * 3, device=device))])
        found = search.stream(step, lambda _: next(begun, None))
        return [(number, [each.tokens for each in hypotheses]) for number, hypotheses in found]

    expected = outputs(model.step, torch.device("cpu"))
    with fake_device() as device:
        with torch.inference_mode():  # as in the search, which takes views of parameters
            model.to(DEVICE)

        def counted(tokens: Tensor, state: Any) -> Any:
            waits_by_step.append(sum(device.waits.values()))
            return model.step(tokens, state)

        assert outputs(counted, DEVICE) == expected
    between = [after - before for before, after in pairwise(waits_by_step)]
    assert min(between) == 1, between


def test_mixed_devices_are_refused() -> None:
    with fake_device(), pytest.raises(RuntimeError, match="tensors of the host meet those of the device"):
        torch.ones(2, device=DEVICE) + torch.ones(2)


def test_waits_are_counted() -> None:
    with fake_device() as device:
        numbers = torch.arange(3).to(DEVICE)
        assert device.waits == {"from the host": 1}
        assert float(numbers.sum()) == 3
        assert numbers.tolist() == [0, 1, 2]
        assert len(numbers[numbers > 0].cpu()) == 2
    assert sum(device.waits.values()) == 5  # moved there, read, listed, indexed by a mask, moved back
