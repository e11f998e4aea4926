"""A run on trees: trained, scored by its brackets, evaluated again, and used on standard input."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from commands import Say
from tiny import TINY

from aiayn.commands.front_end import main
from aiayn.data.grammar.tree import Tree
from aiayn.data.preparation.prepared import PreparedData, find_prepared
from aiayn.evaluation.bracket_counts import BracketScores, total
from aiayn.evaluation.sentences import read_sentence_scores
from aiayn.extensions.parsing.brackets import score_brackets
from aiayn.extensions.parsing.reading import read_tree
from aiayn.runs.record import Record, read_record

PARSING = (
    "experiment=table4/wsj_only",
    "data=toy_trees",
    *(word for word in TINY if not word.startswith(("data.max_length", "decoding.max_extra", "tokenizer"))),
    "data.max_length=200",
    "tokenizer.vocabulary_size=300",
    "decoding.max_extra_length=80",
    "logger=none",
)

Parse = Callable[..., tuple[int, list[str], str]]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, shared_cache: Path) -> Path:
    """A finished tiny run that tests only read."""
    runs = tmp_path_factory.mktemp("parsing")
    assert main(["train", *PARSING, f"paths.runs={runs}", f"paths.cache={shared_cache}"]) == 0
    (record,) = runs.glob("table4/wsj_only/*/run.json")
    return record.parent


@pytest.fixture
def record(run: Path) -> Record:
    return read_record(run / "run.json")


@pytest.fixture
def data(record: Record, shared_cache: Path) -> PreparedData:
    assert record.data_fingerprint is not None
    found = find_prepared(shared_cache, record.data_fingerprint)
    assert found is not None
    return found


@pytest.fixture
def parse(run: Path, say: Say) -> Parse:
    """`aiayn parse` in this process."""

    def call(given: str, *words: str) -> tuple[int, list[str], str]:
        said = say("parse", f"run={run}", *words, given=given)
        return said.code, said.lines, said.err

    return call


def trees(path: Path) -> list[Tree]:
    return [read_tree(line) for line in path.read_text(encoding="utf-8").split("\n")[:-1]]


@pytest.mark.slow
@pytest.mark.parametrize("split", ["dev", "test"])
def test_a_record_holds_the_scores_of_the_trees_on_disk(
    split: Any, run: Path, record: Record, data: PreparedData
) -> None:
    scores = record.scores[split]
    path = run / scores.hypotheses
    predicted = trees(path.with_name(f"{split}.trees"))
    prepared = data.split(split)
    gold = [read_tree(line) for line in prepared.gold_trees()]
    assert [" ".join(tree.words()) for tree in predicted] == prepared.source_lines()
    assert [tree.words() for tree in predicted] == [tree.words() for tree in gold]
    expected = score_brackets(gold, predicted, tags=False)
    assert scores.brackets is not None
    assert (scores.brackets.f1, scores.brackets.precision, scores.brackets.recall) == (
        expected.f1,
        expected.precision,
        expected.recall,
    )
    assert scores.brackets.tagging_accuracy is None
    assert scores.bleu is scores.chrf is None
    assert not scores.matrix
    rows = read_sentence_scores(path.with_name(f"{split}.sentences.jsonl"))
    added: BracketScores = total([row.brackets for row in rows if row.brackets is not None])
    assert added == expected
    assert added.sentences == scores.sentences == len(predicted)


@pytest.mark.slow
def test_a_run_is_validated_by_f1_and_never_by_bleu(run: Path) -> None:
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    names = {name for line in lines for name in line}
    assert "val/f1" in names
    assert not any("bleu" in name for name in names)


@pytest.mark.slow
def test_evaluating_again_gives_the_same(run: Path, record: Record, capsys: pytest.CaptureFixture[str]) -> None:
    written = (run / record.scores["dev"].hypotheses).with_name("dev.trees")
    before = written.read_bytes()
    written.unlink()
    assert main(["evaluate", f"run={run}", "splits=dev"]) == 0
    assert written.read_bytes() == before
    assert record.scores["dev"].brackets is not None
    out = capsys.readouterr().out
    assert f"{record.scores['dev'].brackets.f1:.2f}" in out
    assert "precision" in out
    assert "BLEU" not in out


@pytest.mark.slow
def test_a_constrained_evaluation_has_nothing_to_repair(run: Path, record: Record) -> None:
    free = record.scores["dev"].brackets
    assert free is not None
    assert free.well_formed < 100, "else this shows nothing"
    assert main(["evaluate", f"run={run}", "splits=dev", "decoding.constrained=true"]) == 0
    (written,) = run.glob("evaluations/*-constrained/scores.json")
    assert json.loads(written.read_text())["dev"]["brackets"]["well_formed"] == 100


@pytest.mark.slow
def test_parsing_text_gives_the_trees_of_the_evaluation(
    run: Path, record: Record, data: PreparedData, parse: Parse
) -> None:
    sources = data.split("dev").source_lines()
    code, lines, _ = parse("".join(f"{source}\n" for source in sources))
    assert code == 0
    assert [read_tree(line) for line in lines] == trees((run / record.scores["dev"].hypotheses).with_name("dev.trees"))


@pytest.mark.slow
def test_how_many_outputs_were_repaired_is_told(run: Path, record: Record, data: PreparedData, parse: Parse) -> None:
    scores = record.scores["dev"].brackets
    assert scores is not None
    sources = data.split("dev").source_lines()
    repaired = round(len(sources) * (1 - scores.well_formed / 100))
    assert repaired
    code, _, said = parse("".join(f"{source}\n\n" for source in sources))
    assert code == 0
    assert f"{repaired} of {len(sources)} outputs were not trees over their words and were repaired\n" in said


@pytest.mark.slow
def test_every_line_gives_one_whatever_it_holds(parse: Parse) -> None:
    code, lines, _ = parse("a (small) dog\n\n \t\nnever\u00a0seen . \u2028 ) x\n")
    assert code == 0
    words = [read_tree(line).words() if line else () for line in lines]
    assert words == [("a", "-LRB-small-RRB-", "dog"), (), (), ("never\u00a0seen", ".", "-RRB-", "x")]


@pytest.mark.slow
def test_what_needs_translations_refuses_trees(
    run: Path, trained_run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for words in (
        ["tune", f"run={run}"],
        ["compare", f"run={run}", f"against={run}"],
        ["report", "matrix", f"run={run}"],
        ["parse", f"run={trained_run}"],
        ["evaluate", f"run={trained_run}", "decoding.constrained=true"],
    ):
        assert main(words) == 2
        complaint = capsys.readouterr().err
        assert complaint.count("\n") == 1, complaint
        assert "trees" in complaint or "parses" in complaint
    assert main(["report", "run", f"run={run}"]) == 0
    assert "F1" in capsys.readouterr().out


@pytest.mark.parametrize("stored", ["checkpoints", "evaluations"])
def test_its_record_is_scored_again(run: Path, say: Say, tmp_path: Path, stored: str) -> None:
    record = tmp_path / "theirs" / run.name
    shutil.copytree(run, record, ignore=shutil.ignore_patterns({"evaluations": "checkpoints"}.get(stored, "none")))
    said = say("replay", f"record={record}", "mode=score")
    assert said.code == 0, said.err
    assert "bit-identical: all hypotheses and scores are equal" in said.out
    assert "test F1" in said.out


@pytest.mark.slow
def test_a_published_parser_parses_alike_and_its_card_has_f1_with_an_interval(
    say: Say, parse: Parse, run: Path, record: Record
) -> None:
    assert say("publish", f"run={run}", "output=parser").code == 0
    line = "the dog sees the cat\n"
    assert say("parse", "run=parser", given=line).lines == parse(line)[1]
    brackets = record.scores["test"].brackets
    assert brackets is not None
    card = Path("parser/README.md").read_text(encoding="utf-8")
    row = next(row for row in card.splitlines() if row.startswith("| test | F1 |"))
    value, interval = (cell.strip() for cell in row.split("|")[3:5])
    assert value == f"{brackets.f1:.2f}"
    low, high = map(float, interval.split(" to "))
    assert low <= float(value) <= high
    assert "aiayn parse run=" in card
