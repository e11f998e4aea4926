"""What was prepared is told from the manifest, and the words say whether anything was done."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from aiayn.data.corpus import SPLITS
from aiayn.data.grammar import GrammarCorpus
from aiayn.data.prepared import PreparationSettings, PreparedData, prepare
from aiayn.reports.preparation import COUNTS, facts, print_preparation, split_table


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> PreparedData:
    corpus = GrammarCorpus(sentences=60, dev_sentences=4, test_sentences=3, seed=1)
    settings = PreparationSettings(vocabulary_size=9_000, max_length=9, pretokenized=True)
    return prepare(corpus, settings=settings, cache=tmp_path_factory.mktemp("cache"))


def columns(data: PreparedData) -> Iterator[list[str]]:
    return (list(map(str, column.cells)) for column in split_table(data, name="mine").columns)


def test_each_split_has_a_column_of_its_counts_and_means(data: PreparedData) -> None:
    labels, *splits = columns(data)
    assert labels[: len(COUNTS)] == list(COUNTS.values())
    for name, cells in zip(SPLITS, splits, strict=True):
        counts, split = data.manifest["splits"][name], data.split(name)
        assert cells[: len(COUNTS)] == [f"{counts[key]:,}" for key in COUNTS]
        assert cells[len(COUNTS) :] == [f"{side.lengths.mean():.1f}" for side in (split.source, split.target)]
    assert data.manifest["splits"]["train"]["dropped_too_long"] > 0


def test_the_title_says_what_was_cut_and_how(data: PreparedData) -> None:
    assert split_table(data, name="mine").title == "data mine, byte_pair, split at spaces"


def test_the_facts_are_of_the_folder(data: PreparedData) -> None:
    told = facts(data)
    assert told["vocabulary"].startswith(f"{data.tokenizer.vocabulary_size:,} entries of 9,000")
    assert told["size"] == f"{sum(len(path.read_bytes()) for path in Path(told['folder']).iterdir()):,} bytes"
    assert told["fingerprint"] == data.fingerprint


def test_only_the_last_line_says_whether_anything_was_done(
    data: PreparedData, capsys: pytest.CaptureFixture[str]
) -> None:
    print_preparation(data, name="mine", seconds=75.2, was_there=False)
    *table, last = capsys.readouterr().out.splitlines()
    print_preparation(data, name="mine", seconds=0.31, was_there=True)
    assert capsys.readouterr().out.splitlines() == [*table, "prepared already, nothing to do: verified in 0.3 s"]
    assert last == "prepared in 1 min 15 s"
