"""Every experiment on a device other than the CPU: nothing mixes devices or types, and the host does not wait."""

from collections import Counter
from dataclasses import replace
from functools import cache
from itertools import compress, pairwise
from typing import Any

import numpy as np
import pytest
import torch
from fake_device import DEVICE, FakeDevice, fake_device
from omegaconf import OmegaConf
from pytorch_lightning import Trainer
from tiny import ARCHITECTURE, RECIPE, SEARCH
from tiny_models import loss_and_gradients
from torch import Tensor, nn

from aiayn.builders.models import create_model, create_transformer
from aiayn.config import store
from aiayn.config.compose import compose_command
from aiayn.config.model_schema import ModelConfig
from aiayn.config.schema import BeamSearchConfig
from aiayn.data.batches.collation import collate
from aiayn.data.batches.sentences import PairsInMemory, Sentences
from aiayn.decoding.beam_search import BeamSearch
from aiayn.decoding.step import Hypothesis
from aiayn.extensions.baselines.recurrent import RecurrentTranslator
from aiayn.extensions.parsing.symbols import SymbolTokenizer
from aiayn.flat_tokens import FlatTokens
from aiayn.models.kernels.decoder_state import DecoderState
from aiayn.models.transformer import Transformer
from aiayn.models.translation_model import TranslationModel
from aiayn.training.module import TranslationModule
from aiayn.training.scoring import search_all
from searchers import Ids, endless_model

BOS, EOS = 1, 2

SOURCE, TARGET = [[3, 4, 5, 6], [7, 8], [9, 10, 11]], [[1, 5], [1, 6, 7, 8], [1]]

SOURCES = Sentences.of([[5 + number % 7] * (1 + number % 5) for number in range(24)], eos_id=EOS)
"""More than a batch of the searches with refills."""

OWN_LAYERS = (
    *("attention/", "baselines/", "positions/", "structure/"),
    *("fidelity/biases", "fidelity/zero_start", "fidelity/target_space", "table3/base", "table3/e_learned"),
)
"""Experiments with layers that no other has; the rest differ from these in sizes, data or training."""

OWN_STEPS = ("table3/base", "baselines/")
"""Experiments of every class of models; the module's step and the optimizer do not depend on layers."""


def every_experiment(*default: str) -> pytest.MarkDecorator:
    """All experiments; those whose names do not begin like one of `default` are long tests."""
    names = [
        pytest.param(name, marks=() if name.startswith(default) else pytest.mark.long)
        for name in store.options("experiment")
    ]
    return pytest.mark.parametrize("name", names)


PACKING = Counter({"to the host": 2, "from the host": 1})
"""Waits of a recurrent encoder: torch sorts the lengths on the host, where cuDNN reads them. Its layers are one
operation of a GPU, which casts for itself: the fake device's does not, so these models are left out in bfloat16."""


@cache
def architecture(name: str) -> ModelConfig:
    """An experiment's at scale=nano, with one layer."""
    config = OmegaConf.to_object(compose_command("train", [f"experiment={name}", "scale=nano"]).model)
    assert isinstance(config, ModelConfig)
    config.num_layers = 1
    return config


def build(name: str) -> TranslationModel[Any]:
    """An experiment's model with 23 tokens, in evaluation mode."""
    torch.manual_seed(3)
    return create_model(architecture(name), rows=23).eval()


def batch(device: torch.device) -> list[FlatTokens]:
    return [FlatTokens.of(each).to(device) for each in (SOURCE, TARGET)]


@every_experiment(*OWN_LAYERS)
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


@every_experiment(*OWN_LAYERS)
def test_a_step_of_a_search_waits_once(name: str) -> None:
    check_search(name, beam_size=2)


def check_search(name: str, *, beam_size: int) -> None:
    """The device finds what the CPU finds. A step waits once, and once more if it makes space, unless a sentence ends.

    No output ends before its limit, so that few steps end sentences.
    """
    model, limits = build(name), [4, 14, 14]
    search = BeamSearch(beam_size=beam_size, length_penalty_alpha=0.6, start_id=BOS, eos_id=EOS, forbidden_ids=[0, BOS])

    def endless(tokens: Tensor, state: Any) -> tuple[Tensor, Tensor]:
        logits, normalizers = model.step(tokens, state)
        logits.narrow(-1, EOS, 1).fill_(-torch.inf)
        return logits, normalizers

    def outputs(step: Any, device: torch.device) -> list[tuple[int, list[tuple[int, ...]]]]:
        with torch.inference_mode():
            begun = iter([(model.begin(batch(device)[0]), torch.tensor(limits, device=device))])
        found = search.stream(step, lambda _: next(begun, None))
        return [(number, [each.tokens for each in hypotheses]) for number, hypotheses in found]

    expected = outputs(endless, torch.device("cpu"))
    assert [len(hypotheses[0]) for _, hypotheses in expected] == limits
    waits, makes_space = list[int](), list[bool]()
    with fake_device() as device:
        with torch.inference_mode():  # as in the search, which takes views of parameters
            model.to(DEVICE)

        def counted(tokens: Tensor, state: Any) -> tuple[Tensor, Tensor]:
            waits.append(sum(device.waits.values()))
            makes_space.append(len(waits) > 1 and has_no_space(state, beam=tokens.shape[1]))
            return endless(tokens, state)

        assert outputs(counted, DEVICE) == expected
    by_step = [after - before for before, after in pairwise(waits)]
    once = [number + 1 not in limits for number in range(len(by_step))]
    assert list(compress(by_step, once)) == [1 + each for each in compress(makes_space, once)]
    assert sum(makes_space) <= len(waits) / 4


def has_no_space(state: Any, *, beam: int) -> bool:
    """Whether a Transformer's state has to make space before it reads one more token per beam."""
    return isinstance(state, DecoderState) and state.ancestry.shape[2] + beam > state.past[0].keys.shape[2]


class Steps:
    """The steps of searches by a Transformer on the device.

    Of each: the waits before it, the tokens of each sentence's outputs, and whether the state made space for it.
    """

    def __init__(self, model: Transformer, device: FakeDevice) -> None:
        self.device = device
        self.waits: list[int] = []
        self.makes_space: list[bool] = []
        self.lengths: list[list[int]] = []
        self.room = 0
        model.decoder[0].register_forward_pre_hook(self.count)

    def count(self, layer: nn.Module, arguments: tuple[Any, ...]) -> None:
        _, past, _, _ = arguments
        self.waits.append(sum(self.device.waits.values()))
        self.lengths.append(past.positions.host.flatten().tolist())
        beam = past.bias.shape[2]
        self.makes_space.append(self.room < beam)
        self.room = past.cache.keys.shape[2] - past.slots - beam

    def check(self, *, least: int) -> None:
        """Between two steps is one wait, and one more to make space, unless a sentence ends; `least` have one."""
        once = 0
        for now, (before, after) in enumerate(pairwise(self.waits)):
            goes_on = self.lengths[now + 1] == [length + 1 for length in self.lengths[now]]
            if goes_on:
                assert after - before == 1 + self.makes_space[now + 1]
                once += not self.makes_space[now + 1]
        assert once >= least


def search_on_both(model: Transformer, tokenizer: Any, search: BeamSearchConfig) -> tuple[Steps, list[Hypothesis]]:
    """Search with refills on the device, which finds what the CPU finds; its steps and the best hypotheses."""
    expected = search_all(model, SOURCES, tokenizer, search, device=torch.device("cpu"), refills=True)
    with fake_device() as device:
        with torch.inference_mode():
            model.to(DEVICE)
        steps = Steps(model, device)
        found = search_all(model, SOURCES, tokenizer, search, device=DEVICE)
    assert [[each.tokens for each in hypotheses] for hypotheses in found] == [
        [each.tokens for each in hypotheses] for hypotheses in expected
    ]
    return steps, [best for best, *_ in found]


@pytest.mark.parametrize("beam_size", [1, 3])
def test_a_step_of_a_search_with_refills_waits_once(beam_size: int) -> None:
    model = endless_model(ARCHITECTURE, vocabulary_size=23)
    search = replace(SEARCH, beam_size=beam_size, max_extra_length=10, batch_tokens=60)
    steps, found = search_on_both(model, Ids(23), search)
    assert [len(each.tokens) for each in found] == [length + 10 for length in SOURCES.lengths.tolist()]
    joins = [now for now, lengths in enumerate(steps.lengths) if 0 in lengths and max(lengths) > 0]
    assert joins, "no sentences entered a batch"
    steps.check(least=15)


def test_a_step_of_a_constrained_search_waits_once() -> None:
    tokenizer = SymbolTokenizer(
        classes=["unk"], targets=["(NP", "(S", ")NP", ")S", "XX"], words=["a", "b", "c", "d", "e", "f", "g"]
    )
    torch.manual_seed(3)
    model = create_transformer(ARCHITECTURE, rows=tokenizer.vocabulary_size).eval()
    search = replace(SEARCH, max_extra_length=12, batch_tokens=60, constrained=True)
    steps, found = search_on_both(model, tokenizer, search)
    for hypothesis, length in zip(found, SOURCES.lengths.tolist(), strict=True):
        assert hypothesis.finished
        assert tokenizer.decode(hypothesis.tokens).split().count("XX") == length - 1
    steps.check(least=10)


@every_experiment(*OWN_STEPS)
def test_a_run_of_training_steps_never_waits_and_gives_the_weights_of_the_cpu(name: str) -> None:
    """The module's step, its sums of losses and the optimizer, without Lightning's loop; but for `PACKING`."""
    expected, losses = trained(name, torch.device("cpu"), Counter())
    with fake_device() as device:
        found, sums = trained(name, DEVICE, device.waits)
    assert sums == pytest.approx(losses, rel=1e-4)
    untrained = torch.nn.utils.parameters_to_vector(build(name).parameters()).detach()
    change = expected - untrained
    assert change.norm() > 0.1
    assert (found - expected).norm() < 1e-3 * change.norm()


def trained(name: str, device: torch.device, waits: Counter[str]) -> tuple[Tensor, dict[str, float]]:
    """An experiment's weights after three steps, and the sums of losses that a checkpoint would hold.

    Adam's epsilon is so large that gradients which are rounding alone do not become steps.
    """
    pairs = PairsInMemory(*(Sentences.of(side, eos_id=EOS) for side in (SOURCE, TARGET)))
    batch = collate(pairs, np.arange(len(SOURCE)), start_id=BOS)
    recipe = replace(RECIPE, adam_epsilon=1e-3)
    module = TranslationModule(model=build(name), recipe=recipe, seed=1, log_interval=1, provenance={})
    module.trainer = Trainer(accelerator="cpu", logger=False, enable_checkpointing=False)
    module.to(device)
    module.on_train_start()
    configured: Any = module.configure_optimizers()
    optimizer, scheduler = configured["optimizer"], configured["lr_scheduler"]["scheduler"]
    expected = PACKING if device == DEVICE and isinstance(module.model, RecurrentTranslator) else Counter()
    for step in range(3):
        waits.clear()
        module.on_train_batch_start(batch, step)
        torch.autograd.backward(module.training_step(batch.to(device, non_blocking=True)))
        optimizer.step()
        module.optimizer_zero_grad(0, step, optimizer)
        scheduler.step()
        assert waits == expected
    checkpoint: dict[str, Any] = {}
    module.on_save_checkpoint(checkpoint)
    weights = torch.cat([each.detach().cpu().flatten() for each in module.parameters()])
    return weights, checkpoint["aiayn"]["window"]


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
