"""`fidelity=tensor2tensor_2017` computes, initialises and trains as the authors' code of June 2017."""

import copy
import dataclasses
import math
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
import tape
import tensor2tensor as t2t
import torch
from composed_once import composed
from oracle import Oracle
from tensor2tensor_profile import (
    PROFILE,
    TINY,
    VOCABULARY,
    hparams_of,
    new_model,
    padded,
    random_model,
    reference,
    their_form,
)
from training_step import TrainingStep

from aiayn.builders.cost import model_cost
from aiayn.builders.training import build_module
from aiayn.config.schema import TrainConfig
from aiayn.data.batches.collation import TranslationBatch, collate
from aiayn.data.batches.sentences import PairsInMemory, Sentences
from aiayn.models.kernels.dropout import Dropout
from aiayn.models.transformer import Transformer
from aiayn.training.module import TranslationModule
from aiayn.training.schedule import learning_rate

LIBRARY = t2t.NAME

BOS, EOS = 1, 2
LENGTHS = ((3, 7, 1, 5), (4, 2, 6, 1))
"""Tokens of the sources and the targets of a batch, without end marks."""
EXACT = 1e-12
"""Rounding in float64, of values around 1."""


@pytest.mark.parametrize(
    ("experiment", "changes"),
    [
        ("table3/base", {}),  # transformer_base
        ("table3/a_h1", {"num_heads": 1}),  # transformer_h1
        ("table3/a_h32", {"num_heads": 32}),  # transformer_h32
        ("table3/b_dk16", {"attention_key_channels": 128}),  # transformer_k128
        ("table3/c_n2", {"num_hidden_layers": 2}),  # transformer_l2
        ("table3/c_d256", {"hidden_size": 256}),  # transformer_hs256
        ("table3/c_ff4096", {"filter_size": 4096}),  # transformer_ff4096
        ("table3/d_drop02", {"residual_dropout": 0.2}),  # transformer_dr2
        ("table3/d_ls0", {"label_smoothing": 0.0}),  # transformer_ls0
        ("table3/big", {"hidden_size": 1024, "filter_size": 4096, "num_heads": 16, "residual_dropout": 0.3}),
        (  # transformer_big_enfr
            "table2/big_en_fr",
            {
                "hidden_size": 1024,
                "filter_size": 8192,
                "num_heads": 16,
                "shared_embedding_and_softmax_weights": False,
                "vocab_size": VOCABULARY,
            },
        ),
    ],
)
def test_a_row_at_paper_scale_has_the_settings_of_the_authors_code(experiment: str, changes: dict[str, Any]) -> None:
    config = composed(f"experiment={experiment}", *PROFILE)
    assert hparams_of(config) == dataclasses.replace(t2t.HParams(), **changes)


@pytest.fixture(scope="module", params=["table3/base", "table2/big_en_fr"], ids=["tied", "untied"])
def config(request: pytest.FixtureRequest) -> TrainConfig:
    """With one matrix for all symbols, and with three."""
    return composed(f"experiment={request.param}", *PROFILE, *TINY)


@pytest.fixture(scope="module")
def hparams(config: TrainConfig) -> t2t.HParams:
    return hparams_of(config)


@pytest.fixture(scope="module")
def model(config: TrainConfig) -> Transformer:
    return random_model(config)


@pytest.fixture(scope="module")
def batch() -> TranslationBatch:
    rng = np.random.default_rng(2)
    sides = [[rng.integers(3, 29, length).tolist() for length in lengths] for lengths in LENGTHS]
    pairs = PairsInMemory(*(Sentences.of(side, eos_id=EOS) for side in sides))
    return collate(pairs, np.arange(len(LENGTHS[0])), start_id=BOS)


def ids(batch: TranslationBatch) -> tuple[t2t.Ids, t2t.Ids]:
    """Inputs and targets as the authors' code takes them."""
    layout = batch.target_input.layout
    return padded(batch.source.ids, batch.source.layout), padded(batch.target_output, layout)


def test_every_parameter_is_a_variable_of_the_same_shape(model: Transformer, hparams: t2t.HParams) -> None:
    shapes = {name: value.shape for name, value in their_form(dict(model.named_parameters())).items()}
    assert shapes == {name: variable.shape for name, variable in t2t.variables(hparams).items()}


def test_the_base_model_has_as_many_parameters_but_for_the_unused_target_spaces() -> None:
    counted = model_cost(
        composed("experiment=table3/base", *PROFILE).model, vocabulary_size=t2t.HParams().vocab_size
    ).parameters
    variables = t2t.variables(t2t.HParams()).values()
    unused = (t2t.TARGET_SPACES - 1) * t2t.HParams().hidden_size
    assert counted == sum(math.prod(variable.shape) for variable in variables) - unused


def test_the_references_gradients_are_the_slopes_of_its_loss(
    model: Transformer, hparams: t2t.HParams, batch: TranslationBatch
) -> None:
    weights = their_form(dict(model.named_parameters()))
    rng = np.random.default_rng(3)
    nodes = reference(hparams, weights)
    found = tape.gradients(nodes.loss(*ids(batch)), nodes.weights.values())
    for (name, value), gradient in zip(weights.items(), found, strict=True):
        direction = rng.normal(size=value.shape)
        above, below = (
            float(reference(hparams, {**weights, name: value + step * direction}).loss(*ids(batch)).value)
            for step in (1e-5, -1e-5)
        )
        assert (above - below) / 2e-5 == pytest.approx(float((gradient * direction).sum()), rel=1e-5, abs=1e-7), name


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, EXACT), (torch.float32, 1e-5)])
def test_logits(
    oracle: Oracle,
    model: Transformer,
    hparams: t2t.HParams,
    batch: TranslationBatch,
    dtype: torch.dtype,
    tolerance: float,
) -> None:
    own = copy.deepcopy(model).to(dtype).eval()
    layout = batch.target_input.layout
    with torch.no_grad():
        logits = padded(own(batch.source, batch.target_input), layout)
    inputs, targets = ids(batch)
    theirs = reference(hparams, their_form(dict(model.named_parameters()))).logits(inputs, targets)
    is_token = targets != 0
    name = str(dtype).removeprefix("torch.")
    oracle.agrees(f"logits, {name}", logits[is_token], theirs.value[is_token], tolerance=tolerance)


class TrainedStep:
    """One optimizer step of a module: its inputs and results."""

    def __init__(self, module: TranslationModule, batch: TranslationBatch, folder: Path) -> None:
        self.generator = torch.empty(0)
        assert isinstance(module.model, Transformer)
        hook = module.model.embedding.register_forward_pre_hook(self._remember)
        step = TrainingStep(module, [batch], folder, precision="64-true")
        hook.remove()
        self.loss = step.loss
        self.gradients, self.before, self.after = map(their_form, (step.gradients, step.before, step.after))

    def _remember(self, *_: Any) -> None:
        """Before the first dropout, when the step has seeded the generator."""
        if not len(self.generator):
            self.generator = torch.get_rng_state()

    def masks(self, hparams: t2t.HParams, batch: TranslationBatch) -> dict[str, tape.Array]:
        """The masks that the step drew, if it drew one at each of the authors' sites; we run the encoder first."""
        layouts = {"encoder": batch.source.layout, "decoder": batch.target_input.layout}
        dropout, found = Dropout(hparams.residual_dropout), {}
        torch.set_rng_state(self.generator)
        for site in sorted(t2t.dropout_sites(hparams), key=lambda site: site.startswith("decoder")):
            layout = layouts[site.split("/")[0]]
            ones = torch.ones(len(layout.positions), hparams.hidden_size, dtype=torch.float64)
            found[site] = padded(dropout(ones), layout)
        return found


@pytest.fixture(scope="module")
def step(
    config: TrainConfig, model: Transformer, batch: TranslationBatch, tmp_path_factory: pytest.TempPathFactory
) -> TrainedStep:
    module = build_module(config, copy.deepcopy(model), data_fingerprint="")
    return TrainedStep(module, batch, tmp_path_factory.mktemp("step"))


@pytest.fixture(scope="module")
def theirs(hparams: t2t.HParams, step: TrainedStep, batch: TranslationBatch) -> tuple[float, dict[str, tape.Array]]:
    """Loss and gradients of the same step by the authors' code."""
    trained = reference(hparams, step.before, step.masks(hparams, batch))
    loss = trained.loss(*ids(batch))
    return float(loss.value), dict(zip(trained.weights, tape.gradients(loss, trained.weights.values()), strict=True))


def test_the_loss_differs_by_a_factor_and_a_constant(
    oracle: Oracle, hparams: t2t.HParams, step: TrainedStep, theirs: tuple[float, Any]
) -> None:
    expected = theirs[0] / hparams.loss_multiplier + t2t.normalizing(hparams)
    oracle.agrees("label-smoothed loss with dropout, float64", step.loss, expected, tolerance=EXACT)


def test_gradients_of_every_parameter_under_dropout_at_the_authors_sites(
    oracle: Oracle, hparams: t2t.HParams, step: TrainedStep, theirs: tuple[float, dict[str, tape.Array]]
) -> None:
    assert step.gradients.keys() == theirs[1].keys()
    for name, gradient in theirs[1].items():
        expected = gradient / hparams.loss_multiplier
        oracle.agrees("gradients with dropout, float64", step.gradients[name], expected, tolerance=EXACT)


def test_the_first_step_of_adam(
    oracle: Oracle, hparams: t2t.HParams, step: TrainedStep, theirs: tuple[float, dict[str, tape.Array]]
) -> None:
    """Their epsilon counts as 5 times ours here, which shows in gradients near it, 1e-9; see docs/oracles.md."""
    rate = t2t.learning_rate(hparams, 0)
    ratio = 1 / (hparams.loss_multiplier * (1 - hparams.optimizer_adam_beta2) ** 0.5)
    largest = (ratio**0.5 - 1) / (ratio**0.5 + 1)  # of g / (g + 1) - g / (g + ratio), at a gradient g of sqrt(ratio)
    equal = dataclasses.replace(hparams, optimizer_adam_epsilon=hparams.optimizer_adam_epsilon / ratio)
    words = "first step of Adam, in learning rates"
    for name, gradient in theirs[1].items():
        own = (step.after[name] - step.before[name]) / rate
        for settings, detail, tolerance in ((hparams, "", largest), (equal, ", with epsilons that count alike", 1e-7)):
            (update,) = t2t.adam_updates(settings, [gradient])
            oracle.agrees(words + detail, own, update / rate, tolerance=tolerance)


def test_adam_over_many_steps(oracle: Oracle, config: TrainConfig, hparams: t2t.HParams, model: Transformer) -> None:
    module = build_module(config, copy.deepcopy(model), data_fingerprint="")
    configured = module.configure_optimizers()
    optimizer, scheduler = configured["optimizer"], configured["lr_scheduler"]["scheduler"]  # type: ignore[index]
    weight = next(iter(module.parameters()))
    rng = np.random.default_rng(4)
    gradients = [rng.normal(size=tuple(weight.shape)) for _ in range(60)]
    for number, (gradient, update) in enumerate(zip(gradients, t2t.adam_updates(hparams, gradients), strict=True)):
        before = weight.detach().clone()
        weight.grad = torch.from_numpy(gradient)
        optimizer.step()
        scheduler.step()
        own = (weight.detach() - before).numpy() / t2t.learning_rate(hparams, number)
        theirs = update / t2t.learning_rate(hparams, number)
        oracle.agrees("60 steps of Adam on random gradients, in learning rates", own, theirs, tolerance=1e-3)


def test_the_learning_rate_at_every_scale_of_steps(oracle: Oracle) -> None:
    hparams = t2t.HParams()
    for step in (*range(1, 20), *(int(10 ** (power / 8)) for power in range(11, 46)), 3999, 4000, 4001, 300_000):
        own = learning_rate(step, d_model=hparams.hidden_size, warmup_steps=hparams.learning_rate_warmup_steps)
        share = own / t2t.learning_rate(hparams, step - 1)
        oracle.agrees("learning rate, its ratio less 1", share - 1, 0.0, tolerance=EXACT)


@pytest.mark.parametrize("experiment", ["table3/base", "table2/big_en_fr"])
def test_initial_parameters_have_the_authors_distributions(experiment: str) -> None:
    config = composed(
        f"experiment={experiment}", *PROFILE, *TINY, "model.d_model=64", "model.d_ff=96", "model.vocabulary_rows=100"
    )
    drawn = their_form(dict(new_model(config, seed=5).named_parameters()))
    row = t2t.HParams().target_space_id
    drawn["target_space_embedding"] = drawn["target_space_embedding"][row]
    for name, variable in t2t.variables(hparams_of(config)).items():
        values = np.sort(drawn[name].flatten())
        match variable.distribution:
            case "zeros" | "ones":
                assert np.all(values == (variable.distribution == "ones")), name
                continue
            case "uniform":
                assert np.abs(values).max() <= variable.scale * (1 + 1e-6), name
                below = (values / variable.scale + 1) / 2
            case "normal":
                below = np.array([NormalDist(0, variable.scale).cdf(value) for value in values])
        # Kolmogorov and Smirnov's distance, at a level of 1 in 1000 for each of the matrices.
        assert np.abs(below - (np.arange(len(below)) + 0.5) / len(below)).max() < 1.95 / len(below) ** 0.5, name
