"""The statistics of sentences give sacreBLEU's chrF of any selection."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aiayn.evaluation.bleu import corpus_chrf
from aiayn.evaluation.chrf import COLUMNS, chrf_scores, chrf_statistics

lines = st.text(st.sampled_from("ab ü.\u00a0\u2028\x85\x1c\0") | st.characters(exclude_categories=["Cs"]), max_size=9)
corpora = st.lists(st.tuples(lines, lines), min_size=1, max_size=5)


@settings(max_examples=60)
@given(corpus=corpora, data=st.data())
def test_any_selection_has_its_corpus_score(corpus: list[tuple[str, str]], data: st.DataObject) -> None:
    hypotheses, references = ([*side] for side in zip(*corpus, strict=True))
    statistics = chrf_statistics(hypotheses, references)
    assert statistics.shape == (len(corpus), COLUMNS)
    chosen = data.draw(st.lists(st.integers(0, len(corpus) - 1), min_size=1, max_size=6))
    expected = corpus_chrf([hypotheses[i] for i in chosen], [references[i] for i in chosen]).score
    assert float(chrf_scores(statistics[chosen].sum(axis=0))) == pytest.approx(expected, abs=1e-9)


def test_many_selections_are_scored_at_once() -> None:
    statistics = chrf_statistics(["ein Hund", "zwei Hunde"], ["ein Hund", "drei Katzen"])
    both = chrf_scores(statistics)
    assert both.tolist() == [float(chrf_scores(row)) for row in statistics]
    assert both[0] == pytest.approx(100)
