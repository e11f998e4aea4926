"""A sample is spread over its corpus, and one chosen by score shows the worst, the median and the best."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from aiayn.evaluation.samples import representative_sample, spread

SCORES = st.lists(st.sampled_from([0.0, 12.5, 50.0, 100.0]) | st.floats(0, 100), min_size=1, max_size=60)


@given(total=st.integers(0, 300), count=st.integers(0, 300))
def test_gaps_of_a_spread_sample_differ_by_one_at_most(total: int, count: int) -> None:
    chosen = spread(total, count)
    assert len(chosen) == min(total, count)
    assert chosen[:1] == [0][: len(chosen)]
    gaps = {after - before for before, after in pairwise([*chosen, total])}
    assert not chosen or max(gaps) - min(gaps) <= 1


@given(scores=SCORES, count=st.integers(0, 80))
def test_a_representative_sample_rises_from_the_worst_over_the_median_to_the_best(
    scores: list[float], count: int
) -> None:
    chosen = representative_sample(scores, count)
    assert len(set(chosen)) == len(chosen) <= count
    shown = [scores[index] for index in chosen]
    assert shown == sorted(shown)
    if count >= 3:
        ranked = sorted(scores)
        assert (shown[0], shown[-1]) == (ranked[0], ranked[-1])
        assert ranked[(len(ranked) - 1) // 2] in shown
    if count >= len(scores):
        assert sorted(chosen) == list(range(len(scores)))


@given(total=st.integers(10, 60), count=st.integers(4, 9), data=st.data())
def test_two_systems_are_shown_on_the_same_sentences(total: int, count: int, data: st.DataObject) -> None:
    scores = st.lists(st.floats(0, 100), min_size=total, max_size=total)
    one, other = (set(representative_sample(data.draw(scores), count)) for _ in range(2))
    assert len(one & other) >= count - 3
