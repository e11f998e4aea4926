"""Training and search on a device other than the CPU: nothing mixes devices, and the host does not wait."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
import torch
from fake_device import DEVICE, fake_device
from tiny import ARCHITECTURE
from torch import Tensor

from aiayn.decoding.beam_search import BeamSearch
from aiayn.flat_tokens import FlatTokens
from aiayn.models.architecture import AnyArchitecture, ConvolutionalArchitecture
from aiayn.models.construction import create_model
from aiayn.training.loss import output_losses

SOURCE, TARGET = [[3, 4, 5, 6], [7, 8], [9, 10, 11]], [[1, 5], [1, 6, 7, 8], [1]]

ARCHITECTURES: dict[str, AnyArchitecture] = {
    "base": ARCHITECTURE,
    **{
        name: replace(ARCHITECTURE, attention=name, neighbourhood=4)
        for name in ("dot", "general", "additive", "concat", "restricted")
    },
    **{
        name: replace(ARCHITECTURE, positions=name)
        for name in ("learned", "sinusoidal_blocks", "concatenated", "rotary", "none")
    },
    "pre": replace(ARCHITECTURE, norm="pre", normalization="rms", projection_bias=True),
    "untied": replace(ARCHITECTURE, tied_embeddings=False, reads_bos=False, residual=False),
    "dropout": replace(ARCHITECTURE, dropout=0.3, attention_dropout=0.2, activation_dropout=0.1),
    "convolutional": ConvolutionalArchitecture(d_model=16, num_layers=2, kernel_size=3, dropout=0.1, max_positions=40),
}
"""No recurrent model: torch packs its sequences on the host."""

every_architecture = pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name in ("base", "restricted", "convolutional", "dropout") else pytest.mark.long)
        for name in ARCHITECTURES
    ],
)


def losses_and_gradients(model: Any, device: torch.device) -> tuple[Tensor, tuple[Tensor, ...]]:
    source, target = FlatTokens.of(SOURCE).to(device), FlatTokens.of(TARGET).to(device)
    loss = output_losses(model.states(source, target), model.output_weight, target.ids, label_smoothing=0.1).smoothed
    return loss, torch.autograd.grad(loss, list(model.parameters()))


@every_architecture
def test_a_training_step_never_waits_and_gives_the_gradients_of_the_cpu(name: str) -> None:
    torch.manual_seed(0)
    model = create_model(ARCHITECTURES[name], rows=23)
    model.train(name == "dropout")
    expected, gradients = losses_and_gradients(model, torch.device("cpu"))
    with fake_device() as device:
        model.to(DEVICE)
        source = FlatTokens.of(SOURCE).to(DEVICE)
        device.waits.clear()
        loss, there = losses_and_gradients(model, DEVICE)
        waits = device.waits - Counter({"from the host": 6})  # of the batch, made here
        assert source.ids.device == loss.device == DEVICE
        assert not waits, waits
        if name == "dropout":  # other masks
            return
        torch.testing.assert_close(loss.cpu(), expected)
        for own, other in zip(there, gradients, strict=True):
            torch.testing.assert_close(own.cpu(), other, rtol=1e-4, atol=1e-5)


@every_architecture
@pytest.mark.parametrize("beam_size", [1, 3])
def test_a_step_of_a_search_waits_once(name: str, beam_size: int) -> None:
    torch.manual_seed(3)
    model = create_model(ARCHITECTURES[name], rows=23).eval()
    search = BeamSearch(beam_size=beam_size, length_penalty_alpha=0.6, bos_id=1, eos_id=2, forbidden_ids=[0, 1])
    waits_by_step: list[int] = []

    def outputs(device: torch.device) -> list[tuple[int, list[tuple[int, ...]]]]:
        begun = [False]

        def supply(_: Sequence[int]) -> tuple[Any, Tensor] | None:
            if begun[0]:
                return None
            begun[0] = True
            return model.begin(FlatTokens.of(SOURCE).to(device)), torch.tensor([12] * 3, device=device)

        found = search.stream(model.step, supply)
        return [(number, [each.tokens for each in hypotheses]) for number, hypotheses in found]

    expected = outputs(torch.device("cpu"))
    with fake_device() as device:
        with torch.inference_mode():  # as in the search, which takes views of parameters
            model.to(DEVICE)
        step = model.step

        def counted(tokens: Tensor, state: Any) -> Any:
            waits_by_step.append(sum(device.waits.values()))
            return step(tokens, state)

        model.step = counted  # type: ignore[method-assign]
        assert outputs(DEVICE) == expected
    between = [after - before for before, after in pairwise(waits_by_step)]
    assert Counter(between).most_common(1)[0][0] == 1, between


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
