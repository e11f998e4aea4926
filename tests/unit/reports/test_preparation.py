"""What was prepared is told from the manifest, and the words say whether anything was done."""

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
    shown = [key for key in COUNTS if key in ALWAYS]
    assert list(labels[: len(shown)]) == [COUNTS[key] for key in shown]
    for name, cells in zip(SPLITS, splits, strict=True):
        counts, split = data.manifest["splits"][name], data.split(name)
        assert list(cells[: len(shown)]) == [f"{counts[key]:,}" for key in shown]
        sides = (split.source, split.target)
        assert list(cells[len(shown) : -1]) == [
            *(f"{side.lengths.mean():.1f}" for side in sides),
            *(f"{side.lengths.max():,}" for side in sides),
        ]
        assert cells[-1] == str(sum(max(*pair) > 9 for pair in zip(*(side.lengths for side in sides), strict=True)))
    assert data.manifest["splits"]["train"]["dropped_too_long"] > 0


def test_the_title_says_what_was_cut_and_how(data: PreparedData) -> None:
    assert split_grid(data, name="mine").title == "data mine, byte_pair, split at spaces"


def test_the_facts_are_of_the_folder(data: PreparedData) -> None:
    told = facts(data)
    assert told["vocabulary"].startswith(f"{data.tokenizer.vocabulary_size:,} entries of 9,000")
    assert told["size"] == f"{sum(len(path.read_bytes()) for path in Path(told['folder']).iterdir()):,} bytes"
    assert told["fingerprint"] == data.fingerprint
    assert told["source"] == "the embedded grammar, version 1, seed 1"
    assert told["training pairs with a sentence of dev or test"] == "0"


def test_what_filters_drop_and_what_is_shared_is_shown_where_there_is_some(tmp_path: Path) -> None:
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
    told = facts(data)
    assert told["source"] == "train, train, dev, dev, test, test"
    shared = told["training pairs with a sentence of dev or test"]
    assert shared == "1 (dev.source 1, dev.target 1); the first: c!"


def test_only_the_last_line_says_whether_anything_was_done(
    data: PreparedData, capsys: pytest.CaptureFixture[str]
) -> None:
    print_preparation(data, name="mine", seconds=75.2, was_there=False)
    *table, last = capsys.readouterr().out.splitlines()
    print_preparation(data, name="mine", seconds=0.31, was_there=True)
    assert capsys.readouterr().out.splitlines() == [*table, "prepared already, nothing to do: verified in 0.3 s"]
    assert last == "prepared in 1 min 15 s"
