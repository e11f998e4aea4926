"""Step by step is the same as all at once, whatever a search does to its beams."""

from collections.abc import Callable

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from aiayn.models.transformer import Transformer

Build = Callable[..., Transformer]
Sentences = Callable[..., Tensor]

VARIANTS = [
    {},
    {"norm": "pre"},
    {"positions": "learned"},
    {"d_k": 3, "d_v": 5, "projection_bias": True},
    {"max_positions": 2},
]


def all_at_once(model: Transformer, sources: Tensor, prefixes: Tensor) -> Tensor:
    """Log-probabilities after prefixes `[sentences, beam, length]`: `[sentences, beam, vocabulary]`."""
    sentences, beam, length = prefixes.shape
    logits = model(sources.repeat_interleave(beam, dim=0), prefixes.view(sentences * beam, length))
    return torch.log_softmax(logits[:, -1], dim=-1).view(sentences, beam, -1)


@pytest.mark.parametrize("variant", VARIANTS)
@torch.no_grad()
def test_one_beam_equals_decode(build: Build, sentences: Sentences, variant: dict[str, object]) -> None:
    torch.manual_seed(0)
    model = build(**variant).eval()
    sources, targets = sentences(4, 7, 1), sentences(6, 6, 6)
    state, steps = model.begin(sources), []
    for tokens in torch.split(targets, 1, dim=1):
        log_probabilities, state = model.step(tokens, state)
        steps.append(log_probabilities)
    expected = torch.log_softmax(model(sources, targets), dim=-1)
    torch.testing.assert_close(torch.cat(steps, dim=1), expected, rtol=0, atol=1e-5)


@given(st.integers(0, 2**32), st.data())
@settings(max_examples=25)
def test_any_search_equals_decode(build: Build, sentences: Sentences, seed: int, data: st.DataObject) -> None:
    """From beam 1 to others, sentences leaving and changing places."""
    torch.manual_seed(seed)
    model = build().eval()
    sources = sentences(*data.draw(st.lists(st.integers(1, 6), min_size=1, max_size=4)))
    state = model.begin(sources)
    prefixes = torch.empty(len(sources), 1, 0, dtype=torch.int64)
    for _ in range(data.draw(st.integers(1, 5))):
        tokens = torch.randint(1, 23, prefixes.shape[:2])
        prefixes = torch.cat([prefixes, tokens.unsqueeze(-1)], dim=-1)
        log_probabilities, state = model.step(tokens, state)
        with torch.no_grad():
            expected = all_at_once(model, sources, prefixes)
        torch.testing.assert_close(log_probabilities, expected, rtol=0, atol=1e-5)

        kept = torch.tensor(data.draw(st.lists(st.integers(0, len(sources) - 1), min_size=1, max_size=4)))
        sources, prefixes, state = sources[kept], prefixes[kept], state.keep(kept)
        beams = torch.randint(prefixes.shape[1], (len(kept), data.draw(st.integers(1, 4))))
        prefixes = prefixes[torch.arange(len(kept)).unsqueeze(1), beams]
        state = state.reorder(beams)


def test_a_state_is_never_changed(build: Build, sentences: Sentences) -> None:
    torch.manual_seed(0)
    model = build().eval()
    first, second = torch.tensor([[3], [4]]), torch.tensor([[5], [6]])
    start = model.begin(sentences(4, 6))
    before, state = model.step(first, start)
    after_first, _ = model.step(first, state)
    model.step(second, state)
    state.reorder(torch.zeros(2, 3, dtype=torch.int64))
    state.keep(torch.tensor([1]))
    assert torch.equal(model.step(first, state)[0], after_first)
    assert torch.equal(model.step(first, start)[0], before)


def test_beams_share_what_they_remember(build: Build, sentences: Sentences) -> None:
    """Reordering moves no keys and no values, neither of the source nor of the past."""
    model = build().eval()
    _, state = model.step(torch.tensor([[1], [1]]), model.begin(sentences(4, 6)))
    many = state.reorder(torch.zeros(2, 5, dtype=torch.int64))
    assert many.memory is state.memory
    assert many.past is state.past
    assert all(layer.keys.shape[0] == layer.values.shape[0] == 2 for layer in many.memory)


def test_log_probabilities_are_normalised_and_belong_to_the_caller(build: Build, sentences: Sentences) -> None:
    model = build().eval()
    state = model.begin(sentences(4, 6))
    tokens = torch.tensor([[1], [1]])
    log_probabilities, _ = model.step(tokens, state)
    assert log_probabilities.dtype == torch.float32
    assert not log_probabilities.requires_grad
    torch.testing.assert_close(log_probabilities.exp().sum(-1), torch.ones(2, 1))
    kept = log_probabilities.clone()
    log_probabilities.fill_(0.0)
    assert torch.equal(model.step(tokens, state)[0], kept)


def test_searching_in_training_mode_is_refused(build: Build, sentences: Sentences) -> None:
    with pytest.raises(AssertionError, match="eval"):
        build().train().begin(sentences(3))
