import gzip
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import sacrebleu
from hypothesis import given, settings
from hypothesis import strategies as st

from aiayn.errors import UserError
from aiayn.evaluation.bleu import (
    bleu_from_statistics,
    corpus_bleu,
    corpus_chrf,
    sentence_bleu,
    sentence_statistics,
)

# Few words, so that n-grams match; punctuation and case, so that tokenisation and case count.
words = st.sampled_from(["a", "A", "tree", "Tree", "stands", "here,", "3.5", "(well)", "über", "&quot;", "'s", "."])
odd_words = st.sampled_from(["⟨eos⟩", "a\xa0b", "\x85", "\u2028"]) | st.text(
    st.characters(exclude_characters="\n", exclude_categories=["Cs"]), max_size=4
)
lines = st.lists(words | words | odd_words, max_size=9).map(" ".join)
corpora = st.lists(st.tuples(lines, lines), min_size=1, max_size=8)


def read(path: Path) -> list[str]:
    return gzip.decompress(path.read_bytes()).decode("utf-8").removesuffix("\n").split("\n")


def test_published_scores_of_wmt17_are_reproduced(aiayn_data: Path) -> None:
    folder = aiayn_data / "bleu_wmt17"
    references = read(folder / "reference.de.gz")
    published = dict(line.split("\t") for line in (folder / "expected.tsv").read_text().splitlines())
    assert published
    for system, score in published.items():
        ours = corpus_bleu(read(folder / f"{system}.gz"), references)
        assert round(ours.score, 2) == float(score), system
        assert "tok:13a" in ours.signature


@settings(max_examples=60)
@given(corpus=corpora, tokenize=st.sampled_from(["13a", "intl", "none"]), data=st.data())
def test_statistics_give_the_corpus_score_of_any_selection(
    corpus: list[tuple[str, str]], tokenize: str, data: st.DataObject
) -> None:
    hypotheses, references = ([*side] for side in zip(*corpus, strict=True))
    statistics = sentence_statistics(hypotheses, references, tokenize=tokenize)
    assert statistics.shape == (len(corpus), 10)
    assert statistics.dtype == np.int64
    chosen = data.draw(st.lists(st.integers(0, len(corpus) - 1), min_size=1, max_size=10))
    expected = corpus_bleu([hypotheses[i] for i in chosen], [references[i] for i in chosen], tokenize=tokenize)
    assert bleu_from_statistics(statistics[chosen]) == pytest.approx(expected.score, abs=1e-12)


@pytest.mark.parametrize("score", [corpus_bleu, corpus_chrf, sentence_statistics])
def test_lists_that_do_not_pair_are_told(score: Callable[[list[str], list[str]], object]) -> None:
    with pytest.raises(UserError, match="empty"):
        score([], [])
    with pytest.raises(UserError, match="2 hypotheses for 1 references"):
        score(["a", "b"], ["a"])


def test_text_that_is_tokenised_already_is_compared_by_its_words() -> None:
    hypothesis, reference = ["He said : &quot; A-B &quot;"], ["He said : &quot; A@-@ B &quot;"]
    statistics = sentence_statistics(hypothesis, reference, tokenize="none")
    assert statistics[0, :2].tolist() == [len(hypothesis[0].split()), len(reference[0].split())]
    assert "tok:none" in corpus_bleu(hypothesis, reference, tokenize="none").signature.split("|")


def test_nothing_is_printed_and_sacrebleu_is_imported_late() -> None:
    program = (
        "import sys; from aiayn.evaluation.bleu import corpus_bleu; assert 'sacrebleu' not in sys.modules\n"
        "corpus_bleu(['looks tokenised .'] * 200, ['a'] * 200)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout + done.stderr == ""


@settings(max_examples=40)
@given(corpus=corpora)
def test_the_score_of_a_sentence_is_sacrebleus_own(corpus: list[tuple[str, str]]) -> None:
    hypotheses, references = ([*side] for side in zip(*corpus, strict=True))
    for row, hypothesis, reference in zip(
        sentence_statistics(hypotheses, references).tolist(), hypotheses, references, strict=True
    ):
        expected = sacrebleu.sentence_bleu(hypothesis, [reference]).score
        assert sentence_bleu(row) == pytest.approx(expected, abs=1e-12)
