"""A streamed data set prepares to the same bytes as its tables, with the same errors."""

import json
from pathlib import Path

import datasets
import pytest

from aiayn.data.corpora.corpus import SPLITS, Split
from aiayn.data.corpora.hub import HubCorpus
from aiayn.data.grammar.corpora import GrammarCorpus
from aiayn.data.preparation.prepared import PreparationSettings, prepare
from aiayn.errors import UserError

NAMES: dict[Split, str] = {"train": "train", "dev": "validation", "test": "test"}
SIZES = {"train": 130, "dev": 5, "test": 4}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Parquet files as those of WMT14 on the hub, the training pairs in two."""
    folder = tmp_path_factory.mktemp("hub") / "set"
    folder.mkdir()
    grammar = GrammarCorpus(sentences=130, dev_sentences=5, test_sentences=4, seed=1)
    for split, name in NAMES.items():
        rows = grammar.split(split)[:]
        languages = zip(rows["source"], rows["target"], strict=True)
        table = datasets.Dataset.from_list([{"translation": {"en": f"{one}\n", "de": two}} for one, two in languages])
        shards = 2 if split == "train" else 1
        for number in range(shards):
            file = folder / f"{name}-{number:05}-of-{shards:05}.parquet"
            table.shard(shards, number, contiguous=True).to_parquet(str(file))
    return folder


def corpus_in(
    folder: Path, *, streaming: bool = True, target: str = "de", names: dict[Split, str] = NAMES, dev: int = 5
) -> HubCorpus:
    return HubCorpus(
        path=str(folder),
        subset=None,
        revision=None,
        source_language="en",
        target_language=target,
        splits=names,
        sentences={"train": None, "dev": dev, "test": 4},
        streaming=streaming,
        scratch_directory=folder.parent / "scratch",
    )


def test_streams_prepare_to_the_files_of_tables_without_storing_text(folder: Path, tmp_path: Path) -> None:
    limits = PreparationSettings(vocabulary_size=400, max_length=64)
    streamed, tables = corpus_in(folder), corpus_in(folder, streaming=False)
    assert streamed.identity == tables.identity
    data = prepare(streamed, settings=limits, cache=tmp_path / "a")
    assert not list(folder.parent.rglob("*.arrow"))
    other = prepare(tables, settings=limits, cache=tmp_path / "b")
    assert {path.name: path.read_bytes() for path in data.directory.iterdir()} == {
        path.name: path.read_bytes() for path in other.directory.iterdir()
    }
    assert {split: data.pairs_given(split) for split in SPLITS} == SIZES


def test_a_stream_starts_at_any_pair(folder: Path) -> None:
    stream = corpus_in(folder).split("train")
    assert not isinstance(stream, datasets.Dataset)
    whole = [pair for pairs in stream.chunks(7) for pair in zip(*pairs, strict=True)]
    for start in (0, 64, 65, 129):
        rest = [pair for pairs in stream.chunks(50, start=start) for pair in zip(*pairs, strict=True)]
        assert rest == whole[start:]


def refusal(corpus: HubCorpus, split: Split) -> str:
    with pytest.raises(UserError) as caught:
        list(corpus.split(split).chunks(9))
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_errors_take_one_line(folder: Path, tmp_path: Path) -> None:
    assert "data.sentences.dev=6: " in refusal(corpus_in(folder, dev=6), "dev")
    assert "(a part of a split cannot be streamed)" in refusal(
        corpus_in(folder, names={**NAMES, "dev": "train[:3]"}), "dev"
    )
    assert "no text in the language fr in row 0" in refusal(corpus_in(folder, target="fr"), "dev")
    (tmp_path / "set").mkdir()
    for name in NAMES.values():
        (tmp_path / "set" / f"{name}.jsonl").write_text(f"{json.dumps({'en': 'a', 'ro': 'b'})}\n")
    assert "has the columns en, ro, neither translation nor de" in refusal(corpus_in(tmp_path / "set"), "test")
