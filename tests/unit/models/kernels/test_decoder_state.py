"""Step by step is the same as all at once, whatever a search does to its beams."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_models import build, lines, sentences
from torch import Tensor

from aiayn.flat_tokens import FlatTokens
from aiayn.models.attention import KeysValues
from aiayn.models.kernels.decoder_state import Cache, DecoderState
from aiayn.models.transformer import Transformer


def all_at_once(model: Transformer, sources: list[list[int]], prefixes: list[Tensor]) -> Tensor:
    """Log-probabilities after the prefixes `[beam, length]` of each sentence: `[sentences, beam, vocabulary]`."""
    repeated = [source for source, of_beams in zip(sources, prefixes, strict=True) for _ in of_beams]
    targets = FlatTokens.of([prefix.tolist() for of_beams in prefixes for prefix in of_beams])
    ends = targets.layout.offsets[1:-1] - 1
    logits = model(FlatTokens.of(repeated), targets)[ends]
    return torch.log_softmax(logits, dim=-1).view(len(sources), len(prefixes[0]), -1)


def log_probabilities(model: Transformer, tokens: Tensor, state: DecoderState) -> Tensor:
    logits, normalizers = model.step(tokens, state)
    return logits - normalizers.unsqueeze(-1)


@given(st.integers(0, 2**32), st.data())
@settings(max_examples=10)
def test_any_search_equals_decode(seed: int, data: st.DataObject) -> None:
    """From beam 1 to others, sentences leaving, entering and changing places, slots forgotten on the way."""
    torch.manual_seed(seed)
    model = build().eval()
    drawn = st.lists(st.integers(1, 6), min_size=1, max_size=4)
    beginning = sentences(*data.draw(drawn))
    sources, state = lines(beginning), model.begin(beginning)
    prefixes = [torch.empty(1, 0, dtype=torch.int64) for _ in sources]  # of each sentence, [beam, length]
    for _ in range(data.draw(st.integers(1, 9))):
        beam = len(prefixes[0])
        tokens = torch.randint(1, 23, (len(prefixes), beam))
        prefixes = [torch.cat([old, new.unsqueeze(-1)], dim=-1) for old, new in zip(prefixes, tokens, strict=True)]
        found = log_probabilities(model, tokens, state)
        with torch.no_grad():
            expected = all_at_once(model, sources, prefixes)
        torch.testing.assert_close(found, expected, rtol=0, atol=1e-5)

        kept = data.draw(st.permutations(range(len(sources))))
        kept = kept[: data.draw(st.integers(0, len(kept)))]
        beams = torch.randint(beam, (len(kept), data.draw(st.integers(1, 4))))
        state.keep(torch.tensor(kept, dtype=torch.int64))
        state.reorder(beams)
        sources, prefixes = (
            [sources[row] for row in kept],
            [prefixes[row][new] for row, new in zip(kept, beams, strict=True)],
        )
        if not kept or data.draw(st.booleans()):
            entering = sentences(*data.draw(drawn))
            other = model.begin(entering)
            other.reorder(torch.zeros(entering.layout.sentences, beams.shape[1], dtype=torch.int64))
            state.join(other)
            sources += lines(entering)
            prefixes += [torch.empty(beams.shape[1], 0, dtype=torch.int64) for _ in lines(entering)]


def test_a_source_that_has_left_leaves_no_room() -> None:
    """What enters is padded to the longest source that is still there, not to one that was."""
    model = build().eval()
    state = model.begin(sentences(9, 4))
    state.keep(torch.tensor([1]))
    state.join(model.begin(sentences(3, 5)))
    assert {each.shape[2] for layer in state.memory for each in layer} == {5}
    assert state.source_is_real.sum(dim=1).tolist() == [4, 3, 5]


@pytest.mark.parametrize("beam", [1, 4])
def test_what_no_beam_descends_from_is_forgotten(beam: int) -> None:
    """Beams that always continue the first one need one past together, and a few slots that wait to be forgotten."""
    model, steps = build().eval(), 50
    state = model.begin(sentences(4, 6))
    state.reorder(torch.zeros(2, beam, dtype=torch.int64))
    for _ in range(steps):
        model.step(torch.ones(2, beam, dtype=torch.int64), state)
        state.reorder(torch.zeros(2, beam, dtype=torch.int64))
    assert steps <= state.ancestry.shape[2] < steps + 16 * beam
    assert int(state.ancestry.sum()) == 2 * beam * steps


def test_beams_share_what_they_remember() -> None:
    """Reordering moves no keys and no values, neither of the source nor of the past."""
    model = build().eval()
    state = model.begin(sentences(4, 6))
    model.step(torch.tensor([[1], [1]]), state)
    before = [*state.memory, *state.past]
    state.reorder(torch.zeros(2, 5, dtype=torch.int64))
    assert all(after is layer for after, layer in zip([*state.memory, *state.past], before, strict=True))
    assert all(layer.keys.shape[0] == layer.values.shape[0] == 2 for layer in before)


def test_only_sentences_that_move_are_copied() -> None:
    model = build().eval()
    state = model.begin(sentences(4, 6, 5, 3))
    model.step(torch.ones(4, 1, dtype=torch.int64), state)
    before = [each.clone() for layer in [*state.memory, *state.past] for each in layer]
    places = [each.data_ptr() for layer in [*state.memory, *state.past] for each in layer]
    state.keep(torch.tensor([0, 3, 2]))
    after = [each for layer in [*state.memory, *state.past] for each in layer]
    assert [each.data_ptr() for each in after] == places
    assert all(torch.equal(now, then[[0, 3, 2]]) for now, then in zip(after, before, strict=True))


def test_logits_belong_to_the_caller() -> None:
    model = build().eval()
    sources, tokens = sentences(4, 6), torch.tensor([[1], [1]])
    logits, normalizers = model.step(tokens, model.begin(sources))
    assert not logits.requires_grad
    torch.testing.assert_close((logits - normalizers.unsqueeze(-1)).exp().sum(-1), torch.ones(2, 1))
    kept = logits.clone()
    logits.fill_(0.0)
    assert torch.equal(model.step(tokens, model.begin(sources))[0], kept)


def test_searching_in_training_mode_is_refused() -> None:
    with pytest.raises(AssertionError, match="eval"):
        build().train().begin(sentences(3))


def test_what_is_written_into_a_cache_is_read() -> None:
    """The first dimension of new keys and values that is not theirs is the beam, which the cache has as positions."""
    cache = Cache(torch.randn(2, 3, 7, 4), torch.randn(2, 3, 7, 5))
    first, second = (KeysValues(torch.randn(2, beam, 3, 4), torch.randn(2, beam, 3, 5)) for beam in (2, 3))
    cache.write(first, start=0)
    cache.write(second, start=2)
    for found, written in zip(cache.up_to(5), zip(first, second, strict=True), strict=True):
        assert torch.equal(found, torch.cat(written, dim=1).transpose(1, 2))
