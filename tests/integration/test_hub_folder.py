"""A run on a folder as it lies on the hub: found from where one stands, read once, known by its bytes."""

import os
from pathlib import Path

import datasets
import pytest
from commands import Find, Train

from aiayn.config.freeze import load_config
from aiayn.data.corpora.corpus import SPLITS
from aiayn.data.grammar.corpora import GrammarCorpus
from aiayn.runs.record import Status, read_record

SENTENCES = {"train": 60, "dev": 8, "test": 6}
ASK = ("data.source_language=en", "data.target_language=de", "data.max_length=60", "tokenizer.vocabulary_size=300")


@pytest.mark.slow
def test_a_folder_of_parquet_files(
    train: Train, only_run: Find, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    grammar = GrammarCorpus(sentences=60, dev_sentences=8, test_sentences=6, seed=1)
    (tmp_path / "some" / "corpus" / "data").mkdir(parents=True)
    files = {split: tmp_path / "some" / "corpus" / "data" / f"{split}-00000-of-00001.parquet" for split in SPLITS}
    for split, file in files.items():
        columns = {"translation": [{"en": english, "de": german} for english, german in grammar.rows(split)]}
        datasets.Dataset.from_dict(columns).to_parquet(str(file))
    expected = [f"data.sentences.{split}={size}" for split, size in SENTENCES.items()]
    command = ("data.path=some/corpus", "data.splits.dev=dev", *ASK, *expected, "optimization.max_steps=2")

    assert train(*command, corpus="hub") == 0
    run = only_run()
    record = read_record(run / "run.json")
    assert (record.status, record.data) == (Status.finished, "corpus")
    given = ("pairs", "dropped_too_long", "dropped_empty")
    assert {split: sum(counts[kind] for kind in given) for split, counts in record.data_counts.items()} == SENTENCES
    assert record.data_counts["train"]["dropped_too_long"]  # the sizes are those before any pair was dropped
    assert vars(load_config(run / "config.yaml").data)["path"] == str(tmp_path / "some" / "corpus")

    for file in files.values():
        os.utime(file, (1, 1))
    capsys.readouterr()
    other = [*command, "data.sentences.test=7", "seed=2"]  # prepared already, and compared all the same
    assert train(*other, corpus="hub") == 2
    (line,) = (line for line in capsys.readouterr().err.splitlines() if line.startswith("aiayn: "))
    assert "data.sentences.test=7: data.path=" in line
    assert "has 6 pairs" in line
