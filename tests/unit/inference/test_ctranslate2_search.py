"""CTranslate2 over an exported model finds what our own search finds over the model."""

from dataclasses import replace

import pytest
import torch
from exported_models import TEXT, TINY, TOKENIZER, drawn_model, exported
from hypothesis import example, given, settings
from hypothesis import strategies as st

from aiayn.config.schema import BeamSearchConfig, EndsAmong
from aiayn.data.batches.sentences import SentencesInMemory
from aiayn.data.symbols import SymbolTokenizer
from aiayn.data.vocabulary import AnyTokenizer
from aiayn.decoding.step import Hypothesis
from aiayn.errors import UserError
from aiayn.inference.ctranslate2_search import CTranslate2Search, Positions
from aiayn.inference.export_ctranslate2 import table_length
from aiayn.models.architecture import Architecture
from aiayn.models.transformer import Transformer
from aiayn.training.scoring import search_all

KINDS = st.builds(
    lambda norm, positions, d_k, num_heads: replace(TINY, norm=norm, positions=positions, d_k=d_k, num_heads=num_heads),
    norm=st.sampled_from(["post", "pre"]),
    positions=st.sampled_from(["sinusoidal", "learned"]),
    d_k=st.sampled_from([2, 4, 9]),
    num_heads=st.sampled_from([1, 4]),
)
SOURCES = st.lists(st.lists(st.sampled_from(TEXT), min_size=1, max_size=9), min_size=1, max_size=8)


def talkative(architecture: Architecture, *, seed: int, tokenizer: AnyTokenizer = TOKENIZER) -> Transformer:
    """A model of outputs of many lengths that gives pad and bos no probability.

    CTranslate2 leaves both out before the softmax and we after it: the same where they get nothing. The last number of
    every state is 1, so that the last column of the matrix is a bias.
    """
    model = drawn_model(architecture, seed=seed, tokenizer=tokenizer)
    with torch.no_grad():
        name = "decoder.1.around_feed_forward.norm" if architecture.norm == "post" else "decoder_norm"
        model.get_parameter(f"{name}.weight").mul_(1.5)[-1] = 0.0
        model.get_parameter(f"{name}.bias")[-1] = 1.0
        bias = torch.zeros(tokenizer.vocabulary_size)
        bias[[TOKENIZER.pad_id, TOKENIZER.bos_id]] = -60.0
        bias[TOKENIZER.eos_id] = 3.0
        model.embedding.weight[:, -1] = bias
    return model


def both(
    model: Transformer,
    architecture: Architecture,
    search: BeamSearchConfig,
    sentences: list[list[int]],
    *,
    n_best: int = 1,
    tokenizer: AnyTokenizer = TOKENIZER,
) -> list[tuple[list[Hypothesis], list[Hypothesis]]]:
    """Ours and theirs for each sentence."""
    sources = SentencesInMemory.of(sentences, eos_id=TOKENIZER.eos_id)
    positions = Positions(end=table_length(architecture), are_all=architecture.positions == "learned")
    translator = exported(model, architecture, tokenizer=tokenizer)
    theirs = CTranslate2Search(translator, tokenizer, search, positions=positions)
    ours = search_all(model, sources, tokenizer, search, device=torch.device("cpu"), n_best=n_best)
    return list(zip(ours, theirs(sources, n_best=n_best), strict=True))


@settings(max_examples=25)
@given(KINDS, SOURCES, st.integers(0, 12), st.sampled_from([1, 20, 999]), st.integers(0, 9))
def test_greedy_outputs_are_ours(
    architecture: Architecture, sentences: list[list[int]], extra: int, budget: int, seed: int
) -> None:
    search = BeamSearchConfig(
        beam_size=1,
        length_penalty_alpha=0.6,
        max_extra_length=extra,
        batch_tokens=budget,
        ends_among=EndsAmong.candidates,
        constrained=False,
    )
    for (ours,), (theirs,) in both(talkative(architecture, seed=seed), architecture, search, sentences):
        assert (theirs.tokens, theirs.finished) == (ours.tokens, ours.finished)
        assert (theirs.log_probability, theirs.score) == pytest.approx((ours.log_probability, ours.score), rel=1e-3)


SYMBOLS = st.lists(
    st.sampled_from(
        ["⟨pad⟩", "⟨bos⟩", "⟨eos⟩", "⟨unk⟩", "⟨unk-LC⟩", "<s>", "</s>", "<unk>", "<blank>", "\x00", "(S", "XX"]
    )
    | st.text(st.characters(exclude_characters=" \n", exclude_categories=["Cs"]), min_size=1, max_size=3),
    min_size=1,
    max_size=9,
    unique=True,
)


@settings(max_examples=25)
@given(SYMBOLS, SYMBOLS, st.integers(0, 9))
@example(["⟨eos⟩", "⟨unk-LC⟩"], ["⟨eos⟩", "⟨pad⟩", "</s>"], 0)
def test_symbols_spelled_like_special_ones_are_symbols(words: list[str], tags: list[str], seed: int) -> None:
    lines = [" ".join(words), *words, *tags]
    tokenizer = SymbolTokenizer.train([(lines, [" ".join(tags)])], vocabulary_size=40)
    search = BeamSearchConfig(
        beam_size=1,
        length_penalty_alpha=0.6,
        max_extra_length=4,
        batch_tokens=99,
        ends_among=EndsAmong.candidates,
        constrained=False,
    )
    model = talkative(TINY, seed=seed, tokenizer=tokenizer)
    for (ours,), (theirs,) in both(model, TINY, search, tokenizer.encode_batch(lines), tokenizer=tokenizer):
        assert (theirs.tokens, theirs.finished) == (ours.tokens, ours.finished)


@settings(max_examples=25)
@given(
    KINDS,
    SOURCES,
    st.integers(2, 5),
    st.sampled_from([0.0, 0.6, 1.5]),
    st.integers(0, 12),
    st.sampled_from([1, 20, 999]),
    st.integers(0, 9),
)
def test_no_beam_is_better_than_ours(
    architecture: Architecture,
    sentences: list[list[int]],
    beam_size: int,
    alpha: float,
    extra: int,
    budget: int,
    seed: int,
) -> None:
    """They end where they may, rank by our penalty, and where their best is not ours it scores less."""
    search = BeamSearchConfig(
        beam_size=beam_size,
        length_penalty_alpha=alpha,
        max_extra_length=extra,
        batch_tokens=budget,
        ends_among=EndsAmong.candidates,
        constrained=False,
    )
    found = both(talkative(architecture, seed=seed), architecture, search, sentences, n_best=2)
    for sentence, (ours, theirs) in zip(sentences, found, strict=True):
        assert 1 <= len(theirs) <= 2
        assert [each.score for each in theirs] == sorted((each.score for each in theirs), reverse=True)
        for each in theirs:
            length = len(each.tokens) + each.finished
            assert length <= len(sentence) + 1 + extra
            assert each.score == pytest.approx(each.log_probability / ((5 + length) / 6) ** alpha)
        if theirs[0].finished:
            assert ours[0].finished
            assert theirs[0].tokens == ours[0].tokens or theirs[0].score <= ours[0].score + 1e-3


@settings(max_examples=25)
@given(KINDS, SOURCES, st.integers(2, 5), st.integers(0, 12), st.sampled_from([1, 20, 999]), st.integers(0, 9))
def test_beams_that_end_among_themselves_are_ours(
    architecture: Architecture, sentences: list[list[int]], beam_size: int, extra: int, budget: int, seed: int
) -> None:
    """Without a length penalty nothing is left in which the two searches differ."""
    search = BeamSearchConfig(
        beam_size, 0.0, max_extra_length=extra, batch_tokens=budget, ends_among=EndsAmong.beam, constrained=False
    )
    for (ours,), (theirs,) in both(talkative(architecture, seed=seed), architecture, search, sentences):
        assert (theirs.tokens, theirs.finished) == (ours.tokens, ours.finished)
        assert (theirs.log_probability, theirs.score) == pytest.approx((ours.log_probability, ours.score), rel=1e-3)


@pytest.mark.parametrize("alpha", [0.0, 0.6])
def test_beams_are_ours(alpha: float) -> None:
    search = BeamSearchConfig(
        beam_size=4,
        length_penalty_alpha=alpha,
        max_extra_length=10,
        batch_tokens=100,
        ends_among=EndsAmong.candidates,
        constrained=False,
    )
    torch.manual_seed(8)
    sentences = [torch.randint(3, TEXT.stop, (length,)).tolist() for length in range(1, 10)] * 4
    found = [pair for seed in range(5) for pair in both(talkative(TINY, seed=seed), TINY, search, sentences)]
    same = [(ours.tokens, ours.finished) == (theirs.tokens, theirs.finished) for (ours,), (theirs,) in found]
    assert sum(same) >= 0.95 * len(same), "each that is not scores less, as above"
    assert len({ours.tokens for (ours,), _ in found}) > 20, "with few answers to everything, little would show"


def test_an_empty_source_has_an_empty_output() -> None:
    search = BeamSearchConfig(
        beam_size=2,
        length_penalty_alpha=0.6,
        max_extra_length=3,
        batch_tokens=100,
        ends_among=EndsAmong.candidates,
        constrained=False,
    )
    found = both(talkative(TINY, seed=1), TINY, search, [[5], [], [7, 8]])
    assert [theirs[0].tokens == () for _, theirs in found] == [False, True, False]


def test_what_the_table_does_not_reach_is_refused_by_name() -> None:
    search = BeamSearchConfig(
        beam_size=2,
        length_penalty_alpha=0.6,
        max_extra_length=40,
        batch_tokens=100,
        ends_among=EndsAmong.candidates,
        constrained=False,
    )
    with pytest.raises(UserError, match=r"decoding\.max_extra_length=40: 42 tokens are more than the 40 positions"):
        both(drawn_model(TINY, seed=1), TINY, search, [[5]])
