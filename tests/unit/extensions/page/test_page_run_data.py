"""Curves, samples and attention maps of a run, as the page shows them."""

import base64
import gzip
import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ordinary_user import ordinary_user

from aiayn.data.grammar.corpora import GrammarCorpus
from aiayn.data.preparation.prepared import PreparationSettings, PreparedData, prepare
from aiayn.errors import UserError
from aiayn.evaluation.bleu import sentence_bleu, sentence_statistics
from aiayn.evaluation.bracket_counts import BracketScores, SentenceBrackets
from aiayn.evaluation.sentences import SentenceScores, write_sentence_scores
from aiayn.extensions.page import run_data
from aiayn.extensions.page.run_data import (
    BEST,
    DIGITS,
    LEVELS,
    MEDIAN,
    MOST_POINTS,
    RANKS,
    SAMPLES_EACH,
    WORST,
    Curve,
    Sample,
    find_corpus,
    ranked,
    read_attention,
    read_curves,
    read_samples,
    thinned,
)
from aiayn.runs.attention_maps import AttendedSentence, AttentionMaps, Weights, write_attention_maps
from aiayn.runs.directory import RunDirectory
from aiayn.system import files

SENTENCES = 40


@given(values=st.lists(st.floats(-1e6, 1e6), max_size=300), most=st.integers(4, 60))
def test_thinning_keeps_order_ends_and_extremes_without_long_gaps(values: list[float], most: int) -> None:
    kept = thinned(values, most)
    assert kept == sorted(set(kept))
    assert len(kept) <= most
    if len(values) <= most:
        assert kept == list(range(len(values)))
        return
    shown = [values[place] for place in kept]
    assert (kept[0], kept[-1]) == (0, len(values) - 1)
    assert (min(shown), max(shown)) == (min(values), max(values))
    part = -(-(len(values) - 2) // ((most - 2) // 2))
    assert all(later - earlier <= 2 * part for earlier, later in pairwise(kept))


def test_a_file_that_is_being_written_is_read_up_to_its_last_whole_line(tmp_path: Path) -> None:
    assert read_curves(RunDirectory(tmp_path)) == {}
    rows: list[dict[str, float | None]] = [{"step": step, "train/loss": 8.0 / step} for step in range(1, 1001)]
    rows.insert(500, {"step": 500, "val/ppl": 2.5})
    rows.insert(700, {"step": 700, "val/ppl": None})
    text = "".join(json.dumps(row) + "\n" for row in rows) + '{"step": 1001, "train/lo'
    RunDirectory(tmp_path).metrics.write_text(text)
    curves = read_curves(RunDirectory(tmp_path))
    assert (curves["val/ppl"].steps, curves["val/ppl"].values) == ([500], [2.5])
    loss = curves["train/loss"]
    assert (loss.steps[0], loss.steps[-1]) == (1, 1000)
    assert len(loss.steps) == len(loss.values) <= MOST_POINTS
    assert loss.values == pytest.approx([8.0 / step for step in loss.steps], rel=10 ** (1 - DIGITS))
    assert "val/bleu" not in curves


@pytest.mark.parametrize("metric", ["val/bleu", "val/bleu_none", "val/f1"])
def test_every_score_of_a_validation_has_a_curve(metric: str, tmp_path: Path) -> None:
    RunDirectory(tmp_path).metrics.write_text(json.dumps({"step": 5, metric: 12.5}) + "\n")
    assert read_curves(RunDirectory(tmp_path)) == {metric: Curve([5], [12.5])}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> PreparedData:
    grammar = GrammarCorpus(sentences=40, dev_sentences=SENTENCES, test_sentences=2, seed=1)
    settings = PreparationSettings(vocabulary_size=300, max_length=200)
    return prepare(grammar, settings=settings, cache=tmp_path_factory.mktemp("cache"))


@given(order=st.permutations(range(12)), count=st.integers(1, 12))
def test_ranks_share_no_sentence_and_keep_the_order(order: list[int], count: int) -> None:
    order = [place for place in order if place < count]
    found = ranked(order)
    places = [place for each in found.values() for place in each]
    assert len(set(places)) == len(places) <= len(RANKS) * SAMPLES_EACH
    assert found[BEST][0] == order[-1]
    if count > 1:
        assert found[WORST][0] == order[0]
    if count >= len(RANKS):
        assert all(order.index(a) < order.index(b) for a in found[WORST] for b in found[MEDIAN])
        assert all(order.index(a) < order.index(b) for a in found[MEDIAN] for b in found[BEST])


@pytest.fixture
def write_evaluation(tmp_path: Path) -> Callable[..., Path]:
    """Write hypotheses with their scores."""

    def write(hypotheses: list[str], rows: list[SentenceScores]) -> Path:
        path = tmp_path / "dev.hypotheses.txt"
        files.write_text(path, "".join(f"{line}\n" for line in hypotheses))
        write_sentence_scores(path.with_name("dev.sentences.jsonl"), rows)
        return path

    return write


def test_samples_are_ranked_by_their_own_scores(corpus: PreparedData, write_evaluation: Callable[..., Path]) -> None:
    split = corpus.split("dev")
    sources, references = split.source_lines(), split.target_lines()
    hypotheses = [line if place % 3 else " ".join(line.split()[: place % 5]) for place, line in enumerate(references)]
    statistics = [tuple(map(int, row)) for row in sentence_statistics(hypotheses, references)]
    samples = read_samples(
        write_evaluation(hypotheses, [SentenceScores(1.0, 9, 1, row) for row in statistics]), 0, corpus
    )
    assert [sample.rank for sample in samples] == [rank for rank in RANKS for _ in range(SAMPLES_EACH)]
    for sample in samples:
        place = sample.number - 1
        assert sample.source == sources[place]
        assert sample.reference == references[place]
        assert sample.hypothesis == hypotheses[place]
        assert sample.score == sentence_bleu(statistics[place])
    scores = [sample.score for sample in samples]
    assert scores[0] < scores[-1]
    assert all(sample.hypothesis == sample.reference for sample in samples if sample.rank == BEST)


def test_trees_are_ranked_by_the_f1_of_their_brackets(
    corpus: PreparedData, write_evaluation: Callable[..., Path]
) -> None:
    found = [BracketScores(sentences=1, matched=place, gold=40, predicted=40) for place in range(SENTENCES)]
    rows = [SentenceScores(1.0, 3, 1, brackets=SentenceBrackets(1, each)) for each in found]
    samples = read_samples(write_evaluation(["(S XX )S"] * SENTENCES, rows), 0, corpus)
    assert {sample.score_name for sample in samples} == {"F1"}
    assert all(sample.score == found[sample.number - 1].f1 for sample in samples)


def test_a_run_on_another_corpus_is_refused(corpus: PreparedData, write_evaluation: Callable[..., Path]) -> None:
    count = SENTENCES + 1
    path = write_evaluation(["eins"] * count, [SentenceScores(1.0, 2, 1, (1, 1, 1, 0, 0, 0, 1, 0, 0, 0))] * count)
    with pytest.raises(UserError, match="evaluate the run again"):
        read_samples(path, 0, corpus)


def test_a_corpus_is_found_in_either_cache(tmp_path: Path, corpus: PreparedData) -> None:
    cache = corpus.directory.parents[1]
    for caches in ((cache, tmp_path), (tmp_path, cache)):
        assert find_corpus(corpus.fingerprint, caches).fingerprint == corpus.fingerprint
    with pytest.raises(UserError, match="no longer in the cache"):
        find_corpus(corpus.fingerprint, (tmp_path,))


LAYERS, HEADS = 2, 3


def weights(queries: int, keys: int) -> Weights:
    drawn: Weights = np.random.default_rng(queries * keys).dirichlet(np.ones(keys), size=(LAYERS, HEADS, queries))
    return drawn


SENTENCE = AttendedSentence(
    1,
    source=["A", "dog", "⟨eos⟩"],
    target=["Ein", "Hund", "⟨eos⟩", "."],
    target_input=["⟨bos⟩", "Ein", "Hund", "⟨eos⟩"],
    encoder=weights(3, 3),
    decoder=weights(4, 4),
    cross=weights(4, 3),
)


def write_maps(folder: Path, *, sentences: int = 1, step: int = 3) -> None:
    maps = AttentionMaps(checkpoint_step=step, units="tokens", sentences=[SENTENCE] * sentences)
    write_attention_maps(folder / f"step-{step}.json", maps)


def test_maps_that_may_not_be_read_are_not_absent(tmp_path: Path) -> None:
    folder = tmp_path / "attention"
    assert read_attention(folder) is None
    folder.mkdir(mode=0)
    with pytest.raises(UserError, match=rf"^{folder}: cannot be read \(Permission denied\)"), ordinary_user():
        read_attention(folder)


def test_weights_are_kept_to_half_a_level(tmp_path: Path) -> None:
    write_maps(tmp_path)
    maps = read_attention(tmp_path)
    assert maps is not None
    (shown,) = maps["sentences"]
    assert (shown["source"], shown["target"], shown["read"]) == (
        SENTENCE.source,
        SENTENCE.target,
        SENTENCE.target_input,
    )
    for kind, packed in shown["kinds"].items():
        written = np.round(SENTENCE.map(kind).weights, 3)
        levels = np.frombuffer(gzip.decompress(base64.b64decode(packed["packed"])), dtype=np.uint8)
        assert (packed["layers"], packed["heads"]) == (LAYERS, HEADS)
        assert np.abs(levels.reshape(written.shape) / LEVELS - written).max() <= 0.5 / LEVELS + 1e-9


def test_the_last_checkpoint_with_maps_is_shown(tmp_path: Path) -> None:
    assert read_attention(tmp_path) is None
    for step in (9, 10):
        write_maps(tmp_path, step=step)
    found = read_attention(tmp_path)
    assert found is not None
    assert found["step"] == 10


def test_sentences_that_would_make_the_page_large_are_omitted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_maps(tmp_path, sentences=5)
    whole = read_attention(tmp_path)
    assert whole is not None
    assert (len(whole["sentences"]), whole["omitted"]) == (5, 0)
    size = sum(len(each["packed"]) for each in whole["sentences"][0]["kinds"].values())
    for most, kept in ((3 * size, 3), (3 * size - 1, 2), (1, 1)):
        monkeypatch.setattr(run_data, "MOST_BYTES", most)
        found = read_attention(tmp_path)
        assert found is not None
        assert (len(found["sentences"]), found["omitted"]) == (kept, 5 - kept)


@pytest.mark.parametrize(
    ("hypothesis", "reference", "is_by_character", "expected"),
    [
        ("ein roter Hund", "ein alter Hund", False, [("ein", False), ("roter", True), ("Hund", False)]),
        ("红色的台灯。", "红色的桌灯。", True, [("红色的", False), ("台", True), ("灯。", False)]),
        ("红色的台灯。", "红色的桌灯。", False, [("红色的台灯。", True)]),
        ("ein Hund", "ein alter Hund", False, [("ein", False), ("Hund", False)]),
    ],
)
def test_words_that_differ_are_marked_or_characters(
    hypothesis: str, reference: str, is_by_character: bool, expected: list[tuple[str, bool]]
) -> None:
    sample = Sample(BEST, 1, "BLEU", 50.0, "", reference, hypothesis, is_by_character)
    assert sample.pieces == expected
