import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aiayn.errors import UserError
from aiayn.evaluation.bracket_counts import BracketScores, SentenceBrackets
from aiayn.evaluation.sentences import SentenceScores, read_sentence_scores, write_sentence_scores

COUNTS = tuple(range(10))
count = st.integers(0, 1000)
translations = st.builds(
    SentenceScores,
    nll=st.floats(min_value=0),
    tokens=st.integers(1, 1000),
    bleu_statistics=st.lists(count, min_size=10, max_size=10).map(tuple),
    source_tokens=count,
)
counts = st.builds(BracketScores, sentences=st.just(1), matched=count, gold=count, predicted=count, exact=count)
trees = st.builds(
    SentenceScores,
    nll=st.floats(min_value=0),
    tokens=st.integers(1, 1000),
    bleu_statistics=st.just(()),
    source_tokens=count,
    brackets=st.builds(SentenceBrackets, length=count, scores=counts),
)
scores = translations | trees


@settings(deadline=None)  # waits for the disk
@given(rows=st.lists(scores))
def test_what_is_written_is_read(tmp_path_factory: pytest.TempPathFactory, rows: list[SentenceScores]) -> None:
    path = tmp_path_factory.getbasetemp() / "sentences.jsonl"
    write_sentence_scores(path, rows)
    assert read_sentence_scores(path) == rows


def test_a_crash_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    def breaking_off() -> Iterator[SentenceScores]:
        yield new
        raise KeyboardInterrupt

    old, new = SentenceScores(1.0, 2, 4, COUNTS), SentenceScores(4.0, 5, 7, COUNTS)
    path = tmp_path / "sentences.jsonl"
    write_sentence_scores(path, [old])
    with pytest.raises(KeyboardInterrupt):
        write_sentence_scores(path, breaking_off())
    assert read_sentence_scores(path) == [old]
    assert [*tmp_path.iterdir()] == [path]


GOOD = json.dumps({"nll": 1.0, "tokens": 2, "source_tokens": 2, "bleu_statistics": COUNTS})


@pytest.mark.parametrize(
    "line",
    [
        "{",
        "3",
        "[]",
        '{"nll": 1.0, "tokens": 2, "source_tokens": 2}',
        '{"nll": 1.0, "tokens": 2, "bleu_statistics": []}',
        '{"nll": "x", "tokens": 1, "source_tokens": 2, "bleu_statistics": []}',
        '{"nll": 1.0, "tokens": 2, "source_tokens": 2, "brackets": {}}',
        '{"nll": 1.0, "tokens": 2, "source_tokens": 2, "brackets": 3}',
        '{"nll": 1.0, "tokens": 2, "source_tokens": 2, "brackets": {"length": 1, "scores": {"gold": "1"}}}',
        *(
            GOOD.replace(*change)
            for change in [("1.0", "1e999"), ("1.0", "NaN"), ("1.0", "Infinity"), ('tokens": 2', 'tokens": 0')]
        ),
        *(
            GOOD.replace(*change)
            for change in [("0, 1", "-1, 1"), ("0, 1", "0.5, 1"), ("0, 1", "1"), ("0, 1", 400 * "9" + ", 1")]
        ),
        GOOD.replace("[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]", "[]"),
    ],
)
def test_a_line_that_is_not_scores_is_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "sentences.jsonl"
    write_sentence_scores(path, [SentenceScores(1.0, 2, 4, COUNTS)])
    path.write_text(path.read_text() + line + "\n")
    with pytest.raises(UserError, match=r"^[^\n]*sentences\.jsonl:2: [^\n]*$"):
        read_sentence_scores(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no such file"):
        read_sentence_scores(tmp_path / "none.jsonl")
