"""Corpora in the hub's formats, from local folders, and their errors."""

import gzip
import json
import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import datasets
import pytest

from aiayn.data.corpora.corpus import SPLITS, Split
from aiayn.data.corpora.hub import HubCorpus
from aiayn.data.corpora.hub_data_set import HubDataSet
from aiayn.data.preparation.prepared import PreparationSettings, prepare
from aiayn.errors import UserError

NAMES: dict[Split, str] = {"train": "train", "dev": "validation", "test": "test"}
Rows = list[dict[str, Any]]


def nested(*pairs: tuple[str | None, str | None]) -> Rows:
    return [{"translation": {"en": english, "de": german}} for english, german in pairs]


def write(folder: Path, rows: Mapping[str, Rows]) -> Path:
    folder.mkdir(exist_ok=True)
    for name, lines in rows.items():
        (folder / f"{name}.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    return folder


def corpus_in(folder: Path, *, subset: str | None = None, **changes: Any) -> HubCorpus:
    data_set = HubDataSet(path=str(folder), subset=subset, revision=None, scratch_directory=folder.parent / "scratch")
    settings = {"source_language": "en", "target_language": "de", "splits": NAMES, "sentences": {}, "streaming": False}
    return HubCorpus(data_set, **{**settings, **changes})


def refusal(corpus: HubCorpus, split: Split = "train") -> str:
    with pytest.raises(UserError) as caught:
        list(corpus.rows(split))
    assert "\n" not in str(caught.value)
    return str(caught.value)


GOOD = {
    "train": nested(("a b", "x y"), ("", "ü")),
    "validation": nested(("c", "z")),
    "test": nested(("d\u2028e", "w")),
}
READ = {"train": [("a b", "x y"), ("", "ü")], "dev": [("c", "z")], "test": [("d\u2028e", "w")]}


def jsonl(folder: Path) -> None:
    write(folder, GOOD)


def gzipped(folder: Path) -> None:
    write(folder, GOOD)
    for path in folder.glob("*.jsonl"):
        path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()


def tables() -> datasets.DatasetDict:
    languages = datasets.Features({"translation": datasets.Translation(languages=["en", "de"])})
    return datasets.DatasetDict({name: datasets.Dataset.from_list(rows, languages) for name, rows in GOOD.items()})


def parquet_shards(folder: Path) -> None:
    (folder / "data").mkdir(parents=True)
    for name, table in tables().items():
        for shard in range(len(table)):
            file = folder / "data" / f"{name}-{shard:05}-of-{len(table):05}.parquet"
            table.shard(len(table), shard).to_parquet(str(file))


def saved_to_disk(folder: Path) -> None:
    tables().save_to_disk(str(folder), num_shards={"train": 2, "validation": 1, "test": 1})
    shutil.copy(folder / "test" / "data-00000-of-00001.arrow", folder / "test" / "data-00001-of-00002.arrow")  # stray


@pytest.mark.parametrize("shape", [jsonl, gzipped, parquet_shards, saved_to_disk])
def test_the_shapes_of_a_folder(shape: Any, tmp_path: Path) -> None:
    folder = tmp_path / "set"
    shape(folder)
    corpus = corpus_in(folder)
    assert {split: list(corpus.rows(split)) for split in SPLITS} == READ


def test_subsets_are_defined_by_the_readme(tmp_path: Path) -> None:
    folder = tmp_path / "set"
    header = ["---", "configs:"]
    for subset in ("de-en", "fr-en"):
        header += [f"- config_name: {subset}", "  data_files:"]
        for name in GOOD:
            header += [f"  - split: {name}", f"    path: {subset}/{name}-*"]
            rows = [{"translation": {subset[:2]: f"{subset} {name}", "en": name}}]
            (folder / subset).mkdir(parents=True, exist_ok=True)
            datasets.Dataset.from_list(rows).to_parquet(str(folder / subset / f"{name}-00000-of-00001.parquet"))
    (folder / "README.md").write_text("\n".join([*header, "---", "# Two languages"]))

    german = corpus_in(folder, subset="de-en")
    french = corpus_in(folder, subset="fr-en", target_language="fr")
    assert list(german.rows("dev")) == [("validation", "de-en validation")]
    assert list(french.rows("dev")) == [("validation", "fr-en validation")]
    assert german.identity != french.identity
    for asked in (None, "en-de"):
        said = refusal(corpus_in(folder, subset=asked))
        assert f"fix it or data.subset={asked or 'null'}" in said
        assert "['de-en', 'fr-en']" in said


def test_one_saved_table_can_be_cut_into_splits(tmp_path: Path) -> None:
    datasets.Dataset.from_list(nested(*((str(number), "x") for number in range(9)))).save_to_disk(str(tmp_path / "set"))
    parts: dict[Split, str] = {"train": "train[3:]", "dev": "train[:2]", "test": "train[2:3]"}
    corpus = corpus_in(tmp_path / "set", splits=parts)
    order: tuple[Split, ...] = ("dev", "test", "train")
    assert [source for split in order for source, _ in list(corpus.rows(split))] == list("012345678")
    assert "data.subset=a: " in refusal(corpus_in(tmp_path / "set", subset="a", splits=parts))


@pytest.mark.parametrize("streaming", [False, True])
def test_plain_columns_in_parquet_are_read(tmp_path: Path, streaming: bool) -> None:
    folder = tmp_path / "set"
    folder.mkdir()
    for name in NAMES.values():
        table = datasets.Dataset.from_dict({"de": [f"de {name}"], "score": [0.5], "en": [f" a\nb \r\n\n {name}\n"]})
        table.to_parquet(str(folder / f"{name}.parquet"))
    corpus = corpus_in(folder, streaming=streaming)
    expected = [[(f" a b {name} ", f"de {name}")] for name in NAMES.values()]
    assert [list(corpus.rows(split)) for split in SPLITS] == expected, "line breaks become spaces"


@pytest.mark.parametrize("streaming", [False, True])
def test_rows_start_at_any_pair(tmp_path: Path, streaming: bool) -> None:
    sources = [str(number) for number in range(2_100)]
    folder = write(tmp_path / "set", {**GOOD, "train": nested(*((source, "x") for source in sources))})
    corpus = corpus_in(folder, streaming=streaming)
    for start in (0, 1_000, 1_001, 2_099, 2_100, 3_000):
        assert [source for source, _ in corpus.rows("train", start=start)] == sources[start:]


def test_streams_prepare_to_the_files_of_tables_without_storing_text(tmp_path: Path) -> None:
    limits = PreparationSettings(vocabulary_size=400, max_length=64)
    folder = tmp_path / "set"
    parquet_shards(folder)
    streamed, read = (corpus_in(folder, streaming=streaming) for streaming in (True, False))
    assert streamed.identity == read.identity
    data = prepare(streamed, settings=limits, cache=tmp_path / "a")
    assert not list(tmp_path.rglob("*.arrow"))
    other = prepare(read, settings=limits, cache=tmp_path / "b")
    for path in data.directory.iterdir():
        assert path.read_bytes() == (other.directory / path.name).read_bytes()
    assert {split: data.pairs_given(split) for split in SPLITS} == {"train": 2, "dev": 1, "test": 1}


def test_identity_depends_on_bytes_and_settings_only(tmp_path: Path) -> None:
    folder = write(tmp_path / "set", GOOD)
    known = corpus_in(folder).identity
    for changes in ({"splits": {**NAMES, "dev": "test"}}, {"source_language": "de", "target_language": "en"}):
        assert corpus_in(folder, **changes).identity != known
    assert corpus_in(folder, sentences={"dev": 1}).identity == known
    assert [path.name for path in tmp_path.iterdir()] == ["set"], "nothing was written"
    for path in folder.iterdir():
        os.utime(path, (1, 1))
    elsewhere = folder.rename(tmp_path / "moved")
    assert corpus_in(elsewhere).identity == known


def test_changed_bytes_change_the_corpus_even_with_equal_times(tmp_path: Path) -> None:
    folder = write(tmp_path / "set", GOOD)
    before = corpus_in(folder)
    known = before.identity
    assert list(before.rows("test")) == [("d\u2028e", "w")]
    path = folder / "test.jsonl"
    times = path.stat()
    path.write_text(path.read_text(encoding="utf-8").replace('"w"', '"v"'), encoding="utf-8")
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    after = corpus_in(folder)
    assert after.identity != known
    assert list(after.rows("test")) == [("d\u2028e", "v")]


def test_a_folder_leaves_no_tables_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "home")
    corpus = corpus_in(write(tmp_path / "set", GOOD))
    rows = corpus.rows("train")
    assert next(rows) == ("a b", "x y")
    assert list((tmp_path / "scratch").iterdir())
    del corpus, rows
    assert not list((tmp_path / "scratch").iterdir())
    assert not (tmp_path / "home").exists()


@pytest.mark.parametrize("streaming", [False, True])
def test_stated_sizes_are_compared(tmp_path: Path, streaming: bool) -> None:
    folder = write(tmp_path / "set", GOOD)
    right = corpus_in(folder, sentences={"train": 2, "dev": None, "test": 1}, streaming=streaming)
    assert list(right.rows("dev")) == [("c", "z")]
    said = refusal(corpus_in(folder, sentences={"train": 2, "dev": 1, "test": 3}, streaming=streaming), "test")
    for part in ("data.sentences.test=3", "(test) has 1 pairs", "data.sentences.test=1", "null"):
        assert part in said


@pytest.mark.parametrize(
    ("name", "size", "said"),
    [("test", 2737, "probably the filtered newstest2014"), ("test[:5]", 5, "being part of a split"), ("test", 9, "")],
)
def test_a_wrong_size_is_explained(name: str, size: int, said: str, tmp_path: Path) -> None:
    corpus = corpus_in(tmp_path, splits={**NAMES, "test": name}, sentences={"test": 3003})
    corpus.check_sizes({"train": 1, "dev": 2, "test": 3003})
    with pytest.raises(UserError, match=r"data\.sentences\.test=3003") as caught:
        corpus.check_sizes({"train": 1, "dev": 2, "test": size})
    assert said in str(caught.value)
    assert ("probably" in str(caught.value), "part of" in str(caught.value)) == ("probably" in said, "part of" in said)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"splits": {**NAMES, "test": "prova"}}, "data.splits.test=prova: no such split; .* train, validation, test"),
        ({"splits": {**NAMES, "dev": "train[1"}}, r"data\.splits\.dev=train\[1: .* train, validation"),
        ({"subset": "wmt"}, "cannot be read .*\\['default'\\].*; fix it or data.subset=wmt, or read files"),
        (
            {"source_language": "fr"},
            r"\(train\) has no text in the language fr in line 1 of train\.jsonl; fix data.source_language",
        ),
    ],
    ids=["split", "slice", "subset", "language"],
)
def test_missing_parts_of_the_data_set_are_named(tmp_path: Path, asked: dict[str, Any], said: str) -> None:
    assert re.search(said, refusal(corpus_in(write(tmp_path / "set", GOOD), **asked)))


def test_a_part_of_a_split_cannot_be_streamed(tmp_path: Path) -> None:
    corpus = corpus_in(write(tmp_path / "set", GOOD), splits={**NAMES, "dev": "train[:3]"}, streaming=True)
    assert "data.splits.dev=train[:3]: no such split (a part of a split cannot be streamed)" in refusal(corpus, "dev")


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (nested(("a", "b"), ("c", None)), "has no text in the language de in line 2 of train.jsonl"),
        ([*nested(("a", "b")), {"translation": None}], "has no text in the language en in line 2 of train.jsonl"),
        ([{"translation": "a"}], "has no text in the language en in line 1 of train.jsonl"),
        ([{"en": 1, "de": "x"}], "has no text in the language en in line 1 of train.jsonl"),
        ([{"en": "a", "ro": "b"}], "has the columns en, ro, neither translation nor de; fix data.source_language"),
    ],
    ids=["missing", "null row", "column of text", "number", "other languages"],
)
def test_columns_without_text_are_refused(tmp_path: Path, rows: Rows, said: str, streaming: bool) -> None:
    folder = write(tmp_path / "set", dict.fromkeys(NAMES.values(), rows))
    assert said in refusal(corpus_in(folder, streaming=streaming))


SEVEN_EACH = "".join(f"  - name: {name}\n    num_examples: 7\n    num_bytes: 7\n" for name in GOOD)


@pytest.mark.parametrize(
    ("rows", "file", "content", "said"),
    [
        (GOOD, "train.jsonl", '{"translation": {"en": "a"\n', "cannot be read (JSON parse error"),
        ({}, "notes", "", "cannot be read ("),
        (
            GOOD,
            "set.py",
            "import datasets\n",
            "cannot be read (Dataset scripts are no longer supported, but found set.py",
        ),
        (
            GOOD,
            "README.md",
            f"---\ndataset_info:\n  config_name: default\n  splits:\n{SEVEN_EACH}---\n",
            "holds other splits or sizes than its README.md states",
        ),
        (GOOD, "README.md", "---\nconfigs: [\n---\n", "cannot be read (while parsing"),
    ],
    ids=["torn", "without data", "script", "another README", "torn README"],
)
def test_unusable_folders_are_explained(
    rows: Mapping[str, Rows], file: str, content: str, said: str, tmp_path: Path
) -> None:
    folder = write(tmp_path / "set", rows)
    (folder / file).write_text(content)
    message = refusal(corpus_in(folder))
    assert message.startswith(f"data.path={folder}: {said}")
    assert "data=text_files" in message or "README.md" in message


@pytest.mark.parametrize("path", ["/no/such/folder", "./no-such-folder", "a/b/c", "", __file__])
def test_invalid_paths_are_refused_without_a_request(path: str) -> None:
    data_set = HubDataSet(path=path, subset=None, revision=None, scratch_directory=Path())
    with pytest.raises(UserError, match=f"data.path={path}: |data.path has no value") as caught:
        _ = data_set.content
    assert ("a file: name its folder" in str(caught.value)) == (path == __file__)
