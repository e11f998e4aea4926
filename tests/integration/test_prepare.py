"""`aiayn prepare` leaves in the cache what `aiayn train` with the same settings looks for."""

import json
import re
from pathlib import Path

import pytest
from commands import Find, Say, Train

from aiayn.commands.front_end import main
from aiayn.evaluation.bleu import corpus_bleu, corpus_chrf
from aiayn.runs.record import read_record

SMALL = ("data.sentences=300", "data.dev_sentences=12", "data.test_sentences=12", "data.max_length=60")
WORDS = (*SMALL, "tokenizer=word_piece", "tokenizer.vocabulary_size=700", "data.pretokenized=true")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("AIAYN_CACHE", raising=False)
    return tmp_path


def test_the_second_call_does_nothing_and_shows_the_same(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["prepare", *SMALL]) == 0
    *first, done = capsys.readouterr().out.splitlines()
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}
    assert main(["prepare", *SMALL]) == 0
    *second, nothing = capsys.readouterr().out.splitlines()
    assert second == first
    assert done.startswith("prepared in ")
    assert nothing.startswith("prepared already, nothing to do")
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()} == before
    assert [path.name for path in folder.iterdir()] == ["cache"], "no folder of a run"


def test_settings_of_the_training_are_not_judged_together(folder: Path) -> None:
    nonsense = ["optimization.source_tokens=1", "init_from=nowhere", "trainer.precision=half"]
    assert main(["prepare", *SMALL, *nonsense, "+callbacks.mine._target_=no.such.Callback"]) == 0


@pytest.mark.long
def test_several_corpora_are_prepared_by_one_command(folder: Path) -> None:
    assert main(["prepare", "-m", *SMALL, "data.seed=1,2"]) == 0
    assert len(list(folder.glob("cache/prepared/*/manifest.json"))) == 2
    assert [path.name for path in folder.iterdir()] == ["cache"]


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (
            ["data.max_length=2"],
            "data: the train split has no sentence pairs left, 300 too long; raise data.max_length=2",
        ),
        (
            ["tokenizer.kind=word_piece", "tokenizer.vocabulary_size=300"],
            "tokenizer.vocabulary_size=300: must be at least 515",
        ),
        (["data=text_files"], "data.dev.source has no value"),
        (["paths.cache=a_file/cache"], "paths.cache=a_file/cache: "),
    ],
)
def test_mistakes_are_one_line(say: Say, folder: Path, words: list[str], complaint: str) -> None:
    (folder / "a_file").touch()
    corpus = [] if words == ["data=text_files"] else SMALL
    assert say("prepare", *corpus, *words).refuses_by(complaint)


def test_a_run_on_words_that_were_given_is_scored_by_them(
    train: Train, only_run: Find, shared_cache: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["prepare", *WORDS]) == 0
    folder = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("folder: "))
    prepared = Path(folder.removeprefix("folder: "))
    written = {path: path.stat().st_mtime_ns for path in shared_cache.glob("*/*/*")}
    assert train(*WORDS) == 0
    assert {path: path.stat().st_mtime_ns for path in shared_cache.glob("*/*/*")} == written
    assert "BLEU_none (dev)" in capsys.readouterr().out
    record = read_record(only_run() / "run.json")
    assert record.data_fingerprint == json.loads((prepared / "manifest.json").read_text())["fingerprint"]
    for split, scores in record.scores.items():
        hypotheses = (only_run() / scores.hypotheses).read_text().split("\n")[:-1]
        references = (prepared / f"{split}.target.txt").read_text().split("\n")[:-1]
        expected = corpus_bleu(hypotheses, references, tokenize="none")
        assert (scores.quality.score, scores.quality.signature) == (expected.score, expected.signature)
        assert scores.shown["chrF"].score == corpus_chrf(hypotheses, references).score


@pytest.mark.parametrize("files", ["dev", "[first,dev]"])
def test_a_sentence_far_too_long_is_shown_and_warned_of(
    folder: Path, files: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, length in (("train", 4), ("first", 3), ("test", 40)):
        (folder / name).write_text("a b c d\n" * 30 + " ".join("a" * length) + "\n")
    (folder / "dev").write_text(f"a b\nc d\n{'a ' * 99}b\n{' '.join('a' * 7)}\n")
    named = [f"data.{split}.{side}={split}" for split in ("train", "test") for side in ("source", "target")]
    dev = [f"data.dev.source={files}", f"data.dev.target={files}"]
    words = ["data=text_files", *named, *dev, "data.max_length=8", "tokenizer=word_piece", "data.pretokenized=true"]
    assert main(["prepare", *words, "tokenizer.vocabulary_size=520"]) == 0
    told = capsys.readouterr()
    of_dev, of_test = (line for line in told.err.splitlines() if line.startswith("data."))
    place = "line 3 of dev has" if files == "dev" else "sentence 34 has"
    assert of_dev.startswith(f"data.dev: {place} 101 source tokens, 13 times data.max_length=8; it is scored all the ")
    assert of_test.startswith("data.test: line 31 of test has 41 source tokens, 5 times data.max_length=8; ")
    rows = [re.split(r"\s{2,}", line.strip()) for line in told.out.splitlines()]
    shown = {cells[0]: cells[1:] for cells in rows}
    assert shown["longest source, tokens"] == ["5", "101", "41"]
    assert shown["kept, above 8 tokens"] == ["0", "1", "1"]
