"""The report of a prepared corpus comes from its manifest, and tells whether it was prepared now."""

from pathlib import Path

import pytest

from aiayn.data.corpora.corpus import SPLITS
from aiayn.data.corpora.text_files import SplitFiles, TextFilesCorpus
from aiayn.data.grammar.corpora import GrammarCorpus
from aiayn.data.preparation.filters import Filters
from aiayn.data.preparation.prepared import PreparationSettings, PreparedData, prepare
from aiayn.reports.preparation import ALWAYS, COUNTS, facts, print_preparation, split_grid


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> PreparedData:
    corpus = GrammarCorpus(sentences=60, dev_sentences=4, test_sentences=3, seed=1)
    settings = PreparationSettings(vocabulary_size=9_000, max_length=9, pretokenized=True)
    return prepare(corpus, settings=settings, cache=tmp_path_factory.mktemp("cache"))


def columns(data: PreparedData) -> list[tuple[str, ...]]:
    (lines,) = split_grid(data, name="mine").groups
    return list(zip(*lines, strict=True))


def test_each_split_has_a_column_of_its_counts_and_means(data: PreparedData) -> None:
    labels, *splits = columns(data)
    keys = [key for key in COUNTS if key in ALWAYS]
    assert list(labels[: len(keys)]) == [COUNTS[key] for key in keys]
    for name, cells in zip(SPLITS, splits, strict=True):
        counts, split = data.manifest["splits"][name], data.split(name)
        assert list(cells[: len(keys)]) == [f"{counts[key]:,}" for key in keys]
        sides = (split.source, split.target)
        assert list(cells[len(keys) : -1]) == [
            *(f"{side.lengths.mean():.1f}" for side in sides),
            *(f"{side.lengths.max():,}" for side in sides),
        ]
        assert cells[-1] == str(sum(max(*pair) > 9 for pair in zip(*(side.lengths for side in sides), strict=True)))
    assert data.manifest["splits"]["train"]["dropped_too_long"] > 0


def test_the_title_names_the_tokenizer(data: PreparedData) -> None:
    assert split_grid(data, name="mine").title == "data mine, byte_pair, split at spaces"


def test_the_facts_are_of_the_folder(data: PreparedData) -> None:
    shown = facts(data)
    assert shown["vocabulary"].startswith(f"{data.tokenizer.vocabulary_size:,} entries of 9,000")
    assert shown["size"] == f"{sum(len(path.read_bytes()) for path in Path(shown['folder']).iterdir()):,} bytes"
    assert shown["fingerprint"] == data.fingerprint
    assert shown["source"] == "the embedded grammar, version 1, seed 1"
    assert shown["training pairs with a sentence of dev or test"] == "0"


def test_dropped_and_shared_sentences_are_counted_if_there_are_any(tmp_path: Path) -> None:
    sides = {"train": "a b\na b\nc!\n", "dev": "C\n", "test": "d\n"}
    for split, text in sides.items():
        (tmp_path / split).write_text(text)
    files = {split: SplitFiles(str(tmp_path / split), str(tmp_path / split)) for split in SPLITS}
    corpus = TextFilesCorpus(files=files, source_language="en", target_language="de")
    settings = PreparationSettings(300, 9, filters=Filters(duplicates=True))
    data = prepare(corpus, settings=settings, cache=tmp_path)
    labels, train, *_ = columns(data)
    assert dict(zip(labels, train, strict=True))["dropped, duplicate"] == "1"
    assert "dropped, uneven lengths" not in labels
    shown = facts(data)
    assert shown["source"] == "train, train, dev, dev, test, test"
    shared = shown["training pairs with a sentence of dev or test"]
    assert shared == "1 (dev.source 1, dev.target 1); the first: c!"


def test_the_last_line_tells_whether_it_was_prepared_now(
    data: PreparedData, capsys: pytest.CaptureFixture[str]
) -> None:
    print_preparation(data, name="mine", seconds=75.2, was_there=False)
    *table, last = capsys.readouterr().out.splitlines()
    print_preparation(data, name="mine", seconds=0.31, was_there=True)
    assert capsys.readouterr().out.splitlines() == [*table, "prepared already, nothing to do: verified in 0.3 s"]
    assert last == "prepared in 1 min 15 s"
