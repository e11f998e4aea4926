"""Corpora of the hub's shape, from local folders, and what is said when there is nothing to be had."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import datasets
import pytest

from aiayn.config.errors import UserError
from aiayn.data.corpus import SPLITS, Corpus, Split
from aiayn.data.hub import HubCorpus

NAMES: dict[Split, str] = {"train": "train", "dev": "validation", "test": "test"}
Rows = list[dict[str, Any]]


@pytest.fixture(autouse=True)
def quiet() -> None:
    datasets.disable_progress_bars()


def nested(*pairs: tuple[str | None, str | None]) -> Rows:
    return [{"translation": {"en": english, "de": german}} for english, german in pairs]


def write(folder: Path, rows: Mapping[str, Rows]) -> Path:
    folder.mkdir(exist_ok=True)
    for name, lines in rows.items():
        (folder / f"{name}.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    return folder


def corpus_in(
    folder: Path, *, name: str | None = None, source: str = "en", splits: Mapping[Split, str] = NAMES
) -> HubCorpus:
    return HubCorpus(
        path=str(folder),
        name=name,
        source_language=source,
        target_language="de",
        splits=splits,
        revision=None,
        cache_directory=folder.parent / "cache",
    )


def pairs(corpus: Corpus, split: Split) -> list[tuple[str, str]]:
    table = corpus.split(split)
    rows = table[:]
    assert sorted(rows) == ["source", "target"]
    return list(zip(rows["source"], rows["target"], strict=True))


GOOD = {
    "train": nested(("a b", "x y"), ("", "ü")),
    "validation": nested(("c", "z")),
    "test": nested(("d\u2028e", "w")),
}


def test_a_translation_column_is_read(tmp_path: Path) -> None:
    corpus = corpus_in(write(tmp_path / "set", GOOD))
    assert pairs(corpus, "train") == [("a b", "x y"), ("", "ü")]
    assert pairs(corpus, "dev") == [("c", "z")]
    assert pairs(corpus, "test") == [("d\u2028e", "w")]


def test_either_direction_can_be_read(tmp_path: Path) -> None:
    folder = write(tmp_path / "set", GOOD)
    turned = HubCorpus(
        path=str(folder),
        name=None,
        source_language="de",
        target_language="en",
        splits=NAMES,
        revision=None,
        cache_directory=tmp_path / "cache",
    )
    assert pairs(turned, "dev") == [("z", "c")]
    assert turned.identity != corpus_in(folder).identity


def test_plain_columns_in_parquet_are_read(tmp_path: Path) -> None:
    folder = tmp_path / "set"
    folder.mkdir()
    for name in NAMES.values():
        table = datasets.Dataset.from_dict({"de": [f"de {name}"], "score": [0.5], "en": [f"en {name}"]})
        table.to_parquet(str(folder / f"{name}.parquet"))
    assert [pairs(corpus_in(folder), split) for split in SPLITS] == [
        [(f"en {NAMES[split]}", f"de {NAMES[split]}")] for split in SPLITS
    ]


def test_slices_of_a_split_are_understood(tmp_path: Path) -> None:
    folder = write(tmp_path / "set", {"train": nested(*((str(number), "x") for number in range(10)))})
    corpus = corpus_in(folder, splits={"train": "train[4:]", "dev": "train[:2]", "test": "train[2:4]"})
    assert [source for source, _ in pairs(corpus, "test")] == ["2", "3"]


def test_a_sentence_is_one_line_however_it_is_read(tmp_path: Path) -> None:
    folder = write(tmp_path / "set", {**GOOD, "train": nested((" a\nb \r\n\n c", "x\n"))})
    corpus = corpus_in(folder)
    assert pairs(corpus, "train") == [(" a b c", "x ")]
    table = corpus.split("train")
    assert table[0]["source"] == next(iter(table))["source"] == next(iter(table["source"])) == " a b c"


def test_identity_is_of_the_data_and_of_what_was_asked(tmp_path: Path) -> None:
    folder = write(tmp_path / "set", GOOD)
    known = corpus_in(folder).identity
    assert corpus_in(folder).identity == known
    assert corpus_in(folder, splits={**NAMES, "dev": "test"}).identity != known
    write(folder, {"test": nested(("d", "changed"))})
    assert corpus_in(folder).identity != known


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"splits": {**NAMES, "train": "treino"}}, ["data.splits.train=treino", "set"]),
        ({"name": "wmt"}, ["data.subset=wmt", "set"]),
        (
            {"source": "fr"},
            ["translation.fr and translation.de", "fr and de", "translation.en", "data.source_language"],
        ),
    ],
    ids=["split", "subset", "language"],
)
def test_what_is_not_in_the_data_set_is_named(tmp_path: Path, asked: dict[str, Any], said: list[str]) -> None:
    corpus = corpus_in(write(tmp_path / "set", GOOD), **asked)
    with pytest.raises(UserError) as caught:
        corpus.split("train")
    assert "\n" not in str(caught.value)
    assert [part for part in said if part not in str(caught.value)] == []


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (nested(("a", "b"), ("c", None)), "1 missing sentences in its column translation.de"),
        ([{"en": 1, "de": "x"}], "values of type int64, not text in its column en"),
    ],
    ids=["missing", "number"],
)
def test_what_is_not_text_is_refused(tmp_path: Path, rows: Rows, said: str) -> None:
    corpus = corpus_in(write(tmp_path / "set", {"train": rows}))
    with pytest.raises(UserError, match=said):
        corpus.split("train")


def test_data_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    folder = write(tmp_path / "set", GOOD)
    (folder / "train.jsonl").write_text('{"translation": {"en": "a"\n', encoding="utf-8")
    with pytest.raises(UserError, match=r"set has no split data\.splits\.train=train") as caught:
        corpus_in(folder).split("train")
    assert "\n" not in str(caught.value)


def test_a_folder_without_data_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "set"
    folder.mkdir()
    with pytest.raises(UserError, match=r"data\.path=.*set: no such data set.*data=text_files"):
        corpus_in(folder).split("train")


def test_a_hub_out_of_reach_is_said_with_what_to_do_instead(tmp_path: Path) -> None:
    program = """
from aiayn.config.errors import UserError
from aiayn.data.hub import HubCorpus
names = {"train": "train", "dev": "validation", "test": "test"}
try:
    HubCorpus(
        path="nobody/nothing", name=None, source_language="en", target_language="de", splits=names, revision=None
    ).identity
except UserError as error:
    print(error)
"""
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    (line,) = done.stdout.splitlines()
    for part in ("data.path=nobody/nothing", "cannot be reached", "data=text_files data.train.source="):
        assert part in line
