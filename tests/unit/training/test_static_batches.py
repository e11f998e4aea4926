"""A batch of static shape has the losses and gradients of its sentences, and one compiled graph serves all."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny import RECIPE
from tiny_models import build
from torch import Tensor
from torch._dynamo.testing import CompileCounterWithBackend

from aiayn.data.batches.batching import TrainingStream
from aiayn.data.batches.collation import TranslationBatch, collate
from aiayn.data.batches.sentences import PairsInMemory, Sentences
from aiayn.data.batches.static_shapes import static_shapes
from aiayn.models.transformer import Transformer
from aiayn.training.loss import output_losses
from aiayn.training.module import TranslationModule

BOS, EOS, ENTRIES = 1, 2, 23

LENGTHS = st.lists(st.tuples(st.integers(1, 6), st.integers(1, 6)), min_size=1, max_size=8)


def random_pairs(lengths: list[tuple[int, int]]) -> PairsInMemory:
    """Random sentences of these lengths, end marks included."""
    rng = np.random.default_rng(len(lengths))
    return PairsInMemory(
        *(
            Sentences.of([rng.integers(3, ENTRIES, length - 1).tolist() for length in side], eos_id=EOS)
            for side in zip(*lengths, strict=True)
        )
    )


def losses_and_gradients(model: Transformer, batch: TranslationBatch) -> list[Tensor]:
    states = model.states(batch.source, batch.target_input)
    losses = output_losses(states, model.output_weight, batch.target_output, label_smoothing=0.1)
    return [*losses, *torch.autograd.grad(losses.smoothed, list(model.parameters()))]


@pytest.mark.parametrize(
    ("attention", "positions", "num_layers"),
    [
        ("scaled_dot", "sinusoidal", 2),
        ("general", "learned", 1),
        ("additive", "none", 1),
        ("concat", "rotary", 1),
        ("restricted", "concatenated", 1),
    ],
)
@settings(max_examples=10)
@given(LENGTHS, st.integers(0, 2**32), st.data())
def test_losses_and_gradients_are_those_of_the_sentences(
    attention: str, positions: str, num_layers: int, lengths: list[tuple[int, int]], seed: int, data: st.DataObject
) -> None:
    """For every function of attention on padded tensors, where empty sentences have queries and no key."""
    torch.manual_seed(seed)
    form = {"attention": attention, "neighbourhood": 4, "positions": positions, "max_positions": 6}
    model = build(**form, num_layers=num_layers).double()
    pairs = random_pairs(lengths)
    chosen = np.array(data.draw(st.lists(st.integers(0, len(lengths) - 1), max_size=len(lengths), unique=True)))
    sides = pairs.source.lengths, pairs.target.lengths
    shapes = static_shapes(*sides, source_tokens=48, target_tokens=48, parts=1)
    static, plain = (collate(pairs, chosen.astype(np.int64), start_id=BOS, shapes=each) for each in (shapes, None))
    assert len(static.source.ids) > len(plain.source.ids)
    with torch.autograd.set_detect_anomaly(True):  # no value is NaN, not even where no gradient comes from
        results = [losses_and_gradients(model, batch) for batch in (static, plain)]
    torch.testing.assert_close(results[0], results[1], rtol=1e-10, atol=1e-10)


@pytest.mark.filterwarnings("ignore:.*torch.autograd.function.Function.* should not be instantiated")  # Dynamo does
@pytest.mark.parametrize("is_static", [True, False])
def test_one_graph_serves_all_batches_of_a_run(is_static: bool) -> None:
    torch.compiler.reset()  # graphs that other tests compiled count towards its limit of recompilations
    model, counter = build(num_layers=1), CompileCounterWithBackend("eager")
    compiled = torch.compile(model.states, dynamic=False, fullgraph=True, backend=counter)
    lengths = [(1 + number % 9, 1 + number % 7) for number in range(60)]
    budgets = {"source_tokens": 60, "target_tokens": 60, "max_steps": 6 if is_static else 1}
    place = {"rank": 0, "world_size": 1, "accumulation": 2, "start_step": 0, "seed": 1, "start_id": BOS}
    for batch in TrainingStream(random_pairs(lengths), **budgets, **place, is_static=is_static):
        torch.testing.assert_close(
            compiled(batch.source, batch.target_input), model.states(batch.source, batch.target_input)
        )
    assert counter.frame_count == 1 if is_static else counter.frame_count > 1


def test_gradients_of_static_batches_are_added_to_tensors_that_stay() -> None:
    """A CUDA graph overwrites the gradients that it made; Autograd would keep the first as the parameter's own."""
    module = TranslationModule(model=build(), recipe=RECIPE, seed=1, log_interval=1, provenance={}, is_static=True)
    optimizer = torch.optim.Adam(module.parameters())
    (parameter, *_) = module.parameters()
    made = torch.ones_like(parameter)
    own: list[int] = []
    for _ in range(2):
        module.optimizer_zero_grad(0, 0, optimizer)
        assert all(each.grad is not None and not each.grad.any() for each in module.parameters())
        for _ in range(2):
            torch.autograd.backward(parameter, made)
            assert parameter.grad is not None
            own.append(parameter.grad.data_ptr())
        torch.testing.assert_close(parameter.grad, 2 * made)
    assert len(set(own)) == 1
    assert made.data_ptr() not in own
