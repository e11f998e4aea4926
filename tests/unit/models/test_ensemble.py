"""An ensemble predicts the mean of its members' probabilities, whatever kinds they are of."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeVar

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny import ARCHITECTURE

from aiayn.builders.models import create_transformer
from aiayn.decoding.beam_search import BeamSearch
from aiayn.decoding.step import Hypothesis
from aiayn.extensions.baselines.convolutional import ConvolutionalTranslator
from aiayn.extensions.baselines.recurrent import RecurrentTranslator
from aiayn.flat_tokens import FlatTokens
from aiayn.models.ensemble import Ensemble, log_mean
from aiayn.models.transformer import Transformer
from aiayn.models.translation_model import TranslationModel

Model = TypeVar("Model", bound=torch.nn.Module)

BOS, EOS, ROWS = 1, 2, 23
LIMIT = 9

sources = st.lists(st.lists(st.integers(3, ROWS - 1), min_size=1, max_size=7), min_size=1, max_size=5)


def transformer(d_model: int, seed: int, rows: int = ROWS) -> Transformer:
    torch.manual_seed(seed)
    architecture = replace(ARCHITECTURE, d_model=d_model, d_ff=12, num_layers=1, dropout=0.1, max_positions=64)
    return louder(create_transformer(architecture, rows=rows))


def louder(model: Model) -> Model:
    """In evaluation mode, with weights that disagree more than fresh ones do."""
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(3.0)
    return model.eval()


@pytest.fixture(scope="module")
def members() -> list[TranslationModel[Any]]:
    """One of each kind, of three widths, the first with rows that stand for no text."""
    torch.manual_seed(7)
    recurrent = RecurrentTranslator(
        vocabulary_size=ROWS, d_model=6, num_layers=1, dropout=0.1, cell="gru", attention="additive"
    )
    convolutional = ConvolutionalTranslator(
        vocabulary_size=ROWS, d_model=10, num_layers=2, kernel_size=3, dropout=0.1, max_positions=32
    )
    return [transformer(8, 1, rows=ROWS + 4), louder(recurrent), louder(convolutional)]


def ended(lines: Sequence[Sequence[int]]) -> FlatTokens:
    return FlatTokens.of([[*line, EOS] for line in lines])


def searched(model: Any, lines: Sequence[Sequence[int]], *, beam_size: int = 3) -> list[list[Hypothesis]]:
    search = BeamSearch(
        beam_size=beam_size,
        length_penalty_alpha=0.6,
        start_id=BOS,
        eos_id=EOS,
        forbidden_ids=(0, BOS, *range(ROWS, model.vocabulary_size)),
        n_best=beam_size,
    )
    return search.batch(model.step, model.begin(ended(lines)), torch.full((len(lines),), LIMIT))


def outputs(found: Sequence[Sequence[Hypothesis]]) -> list[list[tuple[int, ...]]]:
    return [[each.tokens for each in hypotheses] for hypotheses in found]


@settings(max_examples=10)
@given(lines=sources)
def test_one_model_or_one_twice_is_the_model(members: list[TranslationModel[Any]], lines: list[list[int]]) -> None:
    for member in members:
        alone = searched(member, lines)
        assert searched(Ensemble([member]), lines) == alone
        twice = searched(Ensemble([member, member]), lines)
        assert outputs(twice) == outputs(alone)
        for one, other in zip(itertools.chain(*twice), itertools.chain(*alone), strict=True):
            assert one.log_probability == pytest.approx(other.log_probability, rel=1e-5)


@settings(max_examples=10)
@given(lines=sources, order=st.permutations(range(3)))
def test_the_order_does_not_matter(
    members: list[TranslationModel[Any]], lines: list[list[int]], order: list[int]
) -> None:
    one, other = (searched(Ensemble([members[place] for place in places]), lines) for places in (range(3), order))
    assert outputs(one) == outputs(other)
    for first, second in zip(itertools.chain(*one), itertools.chain(*other), strict=True):
        assert first.score == pytest.approx(second.score, rel=1e-6, abs=1e-6)


@settings(max_examples=10)
@given(lines=sources)
def test_neighbours_do_not_matter(members: list[TranslationModel[Any]], lines: list[list[int]]) -> None:
    ensemble = Ensemble(members)
    assert outputs(searched(ensemble, lines)) == [outputs(searched(ensemble, [line]))[0] for line in lines]


@torch.inference_mode()
def test_a_step_gives_the_mean_of_the_probabilities(members: list[TranslationModel[Any]]) -> None:
    ensemble, source = Ensemble(members), ended([[5, 9, 4], [8]])
    state, states = ensemble.begin(source), [member.begin(source) for member in members]
    for tokens in (torch.full((2, 1), BOS), torch.tensor([[6], [17]])):
        logits, normalizers = ensemble.step(tokens, state)
        probabilities = []
        for member, own in zip(members, states, strict=True):
            member_logits, member_normalizers = member.step(tokens, own)
            probabilities.append((member_logits - member_normalizers.unsqueeze(-1)).exp()[..., :ROWS])
        expected = torch.stack(probabilities).mean(dim=0)
        torch.testing.assert_close((logits - normalizers.unsqueeze(-1)).exp(), expected)
    assert ensemble.vocabulary_size == ROWS


def test_it_reaches_as_far_as_every_member(members: list[TranslationModel[Any]]) -> None:
    assert Ensemble(members).max_length == 32
    assert Ensemble(members[:2]).max_length is None


@given(st.lists(st.floats(-200, 0), min_size=1, max_size=5))
def test_log_mean(values: list[float]) -> None:
    total = log_mean(torch.tensor([value], dtype=torch.float64) for value in values)
    expected = max(values) + math.log(sum(math.exp(value - max(values)) for value in values) / len(values))
    assert float(total) == pytest.approx(expected, abs=1e-9)


def test_what_no_member_allows_is_impossible() -> None:
    never = torch.tensor([-math.inf, 0.0])
    assert log_mean([never, never]).tolist() == [-math.inf, 0.0]
