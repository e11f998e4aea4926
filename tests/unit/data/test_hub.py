"""Corpora in the hub's formats, from local folders, and their errors."""

import gzip
import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import datasets
import pytest

from aiayn.data.corpora.corpus import SPLITS, Corpus, Split
from aiayn.data.corpora.hub import HubCorpus
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


def corpus_in(
    folder: Path,
    *,
    subset: str | None = None,
    source: str = "en",
    target: str = "de",
    splits: Mapping[Split, str] = NAMES,
    sentences: Mapping[Split, int | None] | None = None,
) -> HubCorpus:
    return HubCorpus(
        path=str(folder),
        subset=subset,
        revision=None,
        source_language=source,
        target_language=target,
        splits=splits,
        sentences=sentences or {},
        scratch_directory=folder.parent / "scratch",
    )


def pairs(corpus: Corpus, split: Split) -> list[tuple[str, str]]:
    table = corpus.split(split)
    rows = table[:]
    assert sorted(rows) == ["source", "target"]
    return list(zip(rows["source"], rows["target"], strict=True))


def refusal(corpus: HubCorpus) -> str:
    with pytest.raises(UserError) as caught:
        corpus.split("train")
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
    assert {split: pairs(corpus, split) for split in SPLITS} == READ


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
    french = corpus_in(folder, subset="fr-en", target="fr")
    assert pairs(german, "dev") == [("validation", "de-en validation")]
    assert pairs(french, "dev") == [("validation", "fr-en validation")]
    assert german.identity != french.identity
    for asked in (None, "en-de"):
        said = refusal(corpus_in(folder, subset=asked))
        assert f"data.subset={asked or 'null'}" in said
        assert "de-en, fr-en" in said


def test_one_saved_table_can_be_cut_into_splits(tmp_path: Path) -> None:
    datasets.Dataset.from_list(nested(*((str(number), "x") for number in range(9)))).save_to_disk(str(tmp_path / "set"))
    parts: dict[Split, str] = {"train": "train[3:]", "dev": "train[:2]", "test": "train[2:3]"}
    corpus = corpus_in(tmp_path / "set", splits=parts)
    order: tuple[Split, ...] = ("dev", "test", "train")
    assert [source for split in order for source, _ in pairs(corpus, split)] == list("012345678")
    assert "data.subset=a: " in refusal(corpus_in(tmp_path / "set", subset="a", splits=parts))


def test_either_direction_can_be_read(tmp_path: Path) -> None:
    folder = write(tmp_path / "set", GOOD)
    turned = corpus_in(folder, source="de", target="en")
    assert pairs(turned, "dev") == [("z", "c")]
    assert turned.identity != corpus_in(folder).identity


def test_plain_columns_in_parquet_are_read(tmp_path: Path) -> None:
    folder = tmp_path / "set"
    folder.mkdir()
    for name in NAMES.values():
        table = datasets.Dataset.from_dict({"de": [f"de {name}"], "score": [0.5], "en": [f"en {name}"]})
        table.to_parquet(str(folder / f"{name}.parquet"))
    corpus = corpus_in(folder)
    assert [pairs(corpus, split) for split in SPLITS] == [
        [(f"en {NAMES[split]}", f"de {NAMES[split]}")] for split in SPLITS
    ]


def test_slices_of_a_split_are_understood(tmp_path: Path) -> None:
    folder = write(tmp_path / "set", {"train": nested(*((str(number), "x") for number in range(10)))})
    corpus = corpus_in(folder, splits={"train": "train[4:]", "dev": "train[:2]", "test": "train[2:4]"})
    assert [source for source, _ in pairs(corpus, "test")] == ["2", "3"]


def test_line_breaks_in_sentences_become_spaces(tmp_path: Path) -> None:
    folder = write(tmp_path / "set", {**GOOD, "train": nested((" a\nb \r\n\n c", "x\n"))})
    corpus = corpus_in(folder)
    assert pairs(corpus, "train") == [(" a b c", "x ")]
    table = corpus.split("train")
    assert table[0]["source"] == next(iter(table))["source"] == next(iter(table["source"])) == " a b c"


def test_identity_depends_on_bytes_and_settings_only(tmp_path: Path) -> None:
    folder = write(tmp_path / "set", GOOD)
    known = corpus_in(folder).identity
    assert corpus_in(folder, splits={**NAMES, "dev": "test"}).identity != known
    assert corpus_in(folder, sentences={"dev": 1}).identity == known

    for path in folder.iterdir():
        os.utime(path, (1, 1))
    elsewhere = folder.rename(tmp_path / "moved")
    assert corpus_in(elsewhere).identity == known


def test_changed_bytes_change_the_corpus_even_with_equal_times(tmp_path: Path) -> None:
    folder = write(tmp_path / "set", GOOD)
    before = corpus_in(folder)
    known = before.identity
    assert pairs(before, "test") == [("d\u2028e", "w")]
    path = folder / "test.jsonl"
    times = path.stat()
    path.write_text(path.read_text(encoding="utf-8").replace('"w"', '"v"'), encoding="utf-8")
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    after = corpus_in(folder)
    assert after.identity != known
    assert pairs(after, "test") == [("d\u2028e", "v")]


def test_a_folder_leaves_no_tables_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "home")
    corpus = corpus_in(write(tmp_path / "set", GOOD))
    table = corpus.split("dev")
    assert list((tmp_path / "scratch").iterdir())
    del corpus
    assert not list((tmp_path / "scratch").iterdir())
    assert not (tmp_path / "home").exists()
    assert table[:]["source"] == ["c"]  # still mapped


def test_identity_writes_nothing(tmp_path: Path) -> None:
    folder = write(tmp_path / "set", GOOD)
    assert corpus_in(folder).identity
    assert [path.name for path in tmp_path.iterdir()] == ["set"]


def test_stated_sizes_are_compared(tmp_path: Path) -> None:
    folder = write(tmp_path / "set", GOOD)
    assert pairs(corpus_in(folder, sentences={"train": 2, "dev": None, "test": 1}), "dev") == [("c", "z")]
    said = refusal(corpus_in(folder, sentences={"train": 2, "dev": 1, "test": 3}))
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
        (
            {"splits": {**NAMES, "test": "prova"}},
            ["data.splits.test=prova", "no such split", "train, validation, test"],
        ),
        ({"splits": {**NAMES, "dev": "train[1"}}, ["data.splits.dev=train[1", "train, validation"]),
        ({"subset": "wmt"}, ["data.subset=wmt", "set has default"]),
        (
            {"source": "fr"},
            ["translation.fr and translation.de", "fr and de", "translation.en", "data.source_language"],
        ),
    ],
    ids=["split", "slice", "subset", "language"],
)
def test_missing_parts_of_the_data_set_are_named(tmp_path: Path, asked: dict[str, Any], said: list[str]) -> None:
    message = refusal(corpus_in(write(tmp_path / "set", GOOD), **asked))
    assert [part for part in said if part not in message] == []


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (nested(("a", "b"), ("c", None)), "1 missing sentences in its column translation.de"),
        ([{"en": 1, "de": "x"}], "values of type int64, not text in its column en"),
    ],
    ids=["missing", "number"],
)
def test_columns_without_text_are_refused(tmp_path: Path, rows: Rows, said: str) -> None:
    assert said in refusal(corpus_in(write(tmp_path / "set", dict.fromkeys(NAMES.values(), rows))))


def broken(folder: Path) -> None:
    write(folder, GOOD)
    (folder / "train.jsonl").write_text('{"translation": {"en": "a"\n', encoding="utf-8")


def without_data(folder: Path) -> None:
    folder.mkdir()


def with_a_script(folder: Path) -> None:
    write(folder, GOOD)
    (folder / f"{folder.name}.py").write_text("import datasets\n")


def with_another_readme(folder: Path) -> None:
    write(folder, GOOD)
    splits = "".join(f"  - name: {name}\n    num_examples: 7\n    num_bytes: 7\n" for name in GOOD)
    (folder / "README.md").write_text(f"---\ndataset_info:\n  config_name: default\n  splits:\n{splits}---\n")


def with_a_torn_readme(folder: Path) -> None:
    write(folder, GOOD)
    (folder / "README.md").write_text("---\nconfigs: [\n---\n")


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (broken, "cannot be read (JSON parse error"),
        (without_data, "cannot be read ("),
        (with_a_script, "a loading script"),
        (with_another_readme, "holds other splits or sizes than its README.md states"),
        (with_a_torn_readme, "cannot be read (while parsing"),
    ],
)
def test_unusable_folders_are_explained(make: Any, said: str, tmp_path: Path) -> None:
    folder = tmp_path / "set"
    make(folder)
    message = refusal(corpus_in(folder))
    assert message.startswith(f"data.path={folder}: {said}")
    assert "data=text_files" in message or "README.md" in message


@pytest.mark.parametrize("path", ["/no/such/folder", "./no-such-folder", "a/b/c", "", __file__])
def test_invalid_paths_are_refused_without_a_request(path: str) -> None:
    corpus = HubCorpus(
        path=path, subset=None, revision=None, source_language="a", target_language="b", splits=NAMES, sentences={}
    )
    with pytest.raises(UserError, match=f"data.path={path}: |data.path has no value") as caught:
        _ = corpus.identity
    assert ("a file: name its folder" in str(caught.value)) == (path == __file__)
