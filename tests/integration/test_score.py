"""`aiayn score` gives each pair the likelihood that training and evaluation give it."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from commands import Say

from aiayn.data.preparation.prepared import PreparedData
from aiayn.data.preparation.split_files import PreparedSplit
from aiayn.evaluation.perplexity import perplexity
from aiayn.evaluation.sentences import SentenceScores, read_sentence_scores
from aiayn.runs.record import read_record


class Said(NamedTuple):
    code: int
    rows: list[dict[str, Any]]
    err: str


Score = Callable[..., Said]


@pytest.fixture
def score(trained_run: Path, say: Say) -> Score:
    """`aiayn score` in this process."""

    def call(given: str, *words: str) -> Said:
        said = say("score", f"run={trained_run}", *words, given=given)
        return Said(said.code, [json.loads(line) for line in said.lines], said.err)

    return call


@pytest.fixture
def split(trained_data: PreparedData) -> PreparedSplit:
    return trained_data.split("test")


@pytest.fixture
def written(trained_run: Path) -> list[SentenceScores]:
    """What training wrote of the test split."""
    hypotheses = trained_run / read_record(trained_run / "run.json").scores["test"].hypotheses
    return read_sentence_scores(hypotheses.with_name("test.sentences.jsonl"))


@pytest.mark.parametrize("words", [["window=1"], ["window=5", "batch_tokens=50"], []])
def test_scores_are_those_that_training_wrote(
    score: Score, split: PreparedSplit, written: list[SentenceScores], words: list[str]
) -> None:
    pairs = zip(split.source_lines(), split.target_lines(), strict=True)
    said = score("".join(f"{source}\t{target}\n" for source, target in pairs), *words)
    assert said.code == 0
    assert [row["line"] for row in said.rows] == list(range(1, len(written) + 1))
    assert [row["tokens"] for row in said.rows] == [each.tokens for each in written]
    assert [row["nll"] for row in said.rows] == pytest.approx([each.nll for each in written], rel=1e-5)
    total = perplexity(np.array([each.nll for each in written]), np.array([each.tokens for each in written]))
    (last,) = said.err.splitlines()
    assert last.startswith(f"12 pairs, {sum(each.tokens for each in written):,} tokens, PPL ")
    assert float(last.rpartition(" ")[2]) == pytest.approx(total, rel=1e-4)


def test_two_files_are_the_pairs_of_their_lines(score: Score, split: PreparedSplit, tmp_path: Path) -> None:
    sources, targets = split.source_lines(), split.target_lines()
    (tmp_path / "source.txt").write_text("".join(f"{line}\n" for line in sources))
    (tmp_path / "target").write_bytes(gzip.compress("\n".join(targets).encode()))
    from_files = score("", "source=source.txt", "target=target")
    assert from_files == score("".join(f"{a}\t{b}\n" for a, b in zip(sources, targets, strict=True)))
    assert from_files.code == 0


def test_a_pair_that_is_too_long_has_no_likelihood(score: Score) -> None:
    long = "dog " * 40
    pairs = ["a\tb", f"{long}\tb", f"a\t{long}", "\t", "c\td"]
    said = score("".join(f"{pair}\n" for pair in pairs), "max_length=20", "window=2")
    assert said.code == 0
    assert [row["nll"] is None for row in said.rows] == [False, True, True, False, False]
    *warnings, total = said.err.splitlines()
    assert [warning.partition(":")[0] for warning in warnings] == ["line 2", "line 3"]
    assert total.startswith("3 pairs, ")
    assert total.endswith(", 2 too long, not scored")
    alone = score("a\tb\nc\td\n").rows
    assert [said.rows[0]["nll"], said.rows[4]["nll"]] == pytest.approx([row["nll"] for row in alone], rel=1e-5)


def test_of_nothing_comes_nothing(score: Score) -> None:
    assert score("") == Said(0, [], "0 pairs, 0 tokens\n")


@pytest.mark.parametrize(("bad", "complaint"), [("no tab", "0 tabs"), ("a\tb\tc", "2 tabs"), ("", "0 tabs")])
def test_a_line_that_is_no_pair_is_named_after_those_before_it(score: Score, bad: str, complaint: str) -> None:
    said = score(f"a\tb\nc\td\n{bad}\ne\tf\n")
    assert (said.code, len(said.rows)) == (2, 2)
    assert said.err.startswith(f"aiayn: standard input, line 3: has {complaint}; ")
    assert said.err.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["source=a.txt"], "source=a.txt: state target too"),
        (["target=a.txt"], "target=a.txt: state source too"),
        (["source=a.txt", "target=b.txt"], "source: a.txt cannot be read "),
        (["batch_tokens=0"], "batch_tokens=0: must be at least 1"),
    ],
)
def test_mistakes_are_one_line(say: Say, trained_run: Path, words: list[str], complaint: str) -> None:
    assert say("score", f"run={trained_run}", *words, given="a\tb\n").refuses_by(complaint)
