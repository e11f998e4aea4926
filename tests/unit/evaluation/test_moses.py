"""multi-bleu.perl's arithmetic, Moses' tokens, and the compounds of tensor2tensor's script."""

import math
import shutil
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiayn.evaluation.bleu import corpus_bleu
from aiayn.evaluation.moses import compounds_split, multi_bleu, quotes_normalized, tokenized

tokens = st.lists(st.sampled_from(["a", "b", "c", "d"]), max_size=8)
pairs = st.one_of(st.tuples(tokens, tokens), tokens.map(lambda words: (words, words)))
corpora = st.lists(pairs, min_size=1, max_size=4)


@given(corpora)
def test_it_is_sacrebleus_where_nothing_is_tokenised_or_smoothed(corpus: list[tuple[list[str], list[str]]]) -> None:
    matching = ["a", "b", "c", "d"]  # sacreBLEU smooths orders without a match
    corpus = [*corpus, (matching, matching)]
    hypotheses, references = ([" ".join(side) for side in sides] for sides in zip(*corpus, strict=True))
    expected = corpus_bleu(hypotheses, references, tokenize="none").score
    assert multi_bleu(hypotheses, references) == pytest.approx(expected)


def test_what_is_written_by_hand() -> None:
    text = ["the cat sat on the mat"]
    assert multi_bleu(text, text) == pytest.approx(100)
    # 5/5, 4/4, 3/3, 2/2 of a text one word short of six.
    assert multi_bleu(["the cat sat on the"], text) == pytest.approx(100 * math.exp(1 - 6 / 5))
    # 5/6, 3/5, 2/4, 1/3: "a" is not there.
    assert multi_bleu(["the cat sat on a mat"], text) == pytest.approx(100 * (5 / 6 * 3 / 5 * 2 / 4 * 1 / 3) ** 0.25)
    assert multi_bleu(["the cat sat"], text) == 0  # no 4-gram: no smoothing
    assert multi_bleu([""], text) == 0
    assert multi_bleu(["The cat sat on the mat"], text) < 100  # case counts


def test_moses_parts_words_as_its_language_does() -> None:
    assert tokenized(['Er sagte: "Das ist Dr. Meier-Schulz."'], "de") == [
        "Er sagte : &quot; Das ist Dr. Meier-Schulz . &quot;"
    ]
    assert tokenized(["l'homme"], "fr") == ["l&apos; homme"]
    assert tokenized(["it's"], "en") == ["it &apos;s"]


def test_quotes_become_ascii() -> None:
    assert quotes_normalized(["„Ja“, sagte er – ’s ist so…"]) == ['"Ja", sagte er – \'s ist so...']


@pytest.mark.skipif(shutil.which("perl") is None, reason="no perl on PATH")
def test_compounds_are_split_as_by_the_script() -> None:
    lines = ["rich-text format", "a-b-c-d", "- 5 -", "x--y", "well-known , E-Mail-Adresse &quot;A-B&quot;", "-"]
    script = r"s{(\S)-(\S)}{$1 ##AT##-##AT## $2}g"
    text = "".join(f"{line}\n" for line in lines)
    done = subprocess.run(["perl", "-ple", script], input=text, capture_output=True, text=True, check=True)
    assert [compounds_split(line) for line in lines] == done.stdout.splitlines()
