"""CSV, TSV and JSON lines: every field is the text that the file has, and every line is a row or named."""

import bz2
import csv
import io
import json
import logging
import lzma
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aiayn.data.corpora.corpus import Split
from aiayn.data.corpora.delimited import table_rows
from aiayn.data.corpora.hub import HubCorpus
from aiayn.data.corpora.hub_data_set import HubDataSet
from aiayn.errors import UserError

GOOD = {"csv": "en,de\na,b\n", "tsv": "en\tde\na\tb\n", "jsonl": '{"en": "a", "de": "b"}\n'}
NAMES: dict[Split, str] = {"train": "train", "dev": "validation", "test": "test"}
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n\r\0")).map(lambda text: f".{text}")


def corpus_of(
    folder: Path, kind: str, train: bytes | str, *, streaming: bool = False, ending: str = "", split: str = "train"
) -> HubCorpus:
    """A corpus whose training split has some content."""
    folder = folder / "set"
    folder.mkdir()
    content = train if isinstance(train, bytes) else train.encode()
    (folder / f"train.{kind}{ending}").write_bytes(content)
    for name in ("validation", "test"):
        (folder / f"{name}.{kind}").write_text(GOOD[kind])
    data_set = HubDataSet(path=str(folder), subset=None, revision=None, scratch_directory=folder.parent / "scratch")
    languages = {"source_language": "en", "target_language": "de"}
    return HubCorpus(data_set, **languages, splits=NAMES | {"train": split}, sentences={}, streaming=streaming)


MISSING = ["NA", "null", "None", "nan", "NaN", "N/A", "", "1", "2.0", "TRUE", "1e3", "2026-11-28", "-inf"]


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize("kind", ["csv", "tsv"])
def test_what_looks_like_a_missing_value_or_a_number_is_text(tmp_path: Path, kind: str, streaming: bool) -> None:
    separator = {"csv": ",", "tsv": "\t"}[kind]
    content = f"en{separator}de\n" + "".join(f"{each}{separator}k. A. {each}\n" for each in MISSING)
    rows = list(corpus_of(tmp_path, kind, content, streaming=streaming).rows("train"))
    assert rows == [(each, f"k. A. {each}") for each in MISSING]


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_quotes_in_tsv_are_text(tmp_path: Path, end: str, streaming: bool) -> None:
    lines = ["en\tde", '"a\tb', "c\td", '"e"\t"f"', 'g"h\t"', "\ufeffi\tj\u2028k\x85", 'l\t"']
    rows = list(corpus_of(tmp_path, "tsv", end.join(lines) + end, streaming=streaming).rows("train"))
    assert rows == [tuple(line.split("\t")) for line in lines[1:]]


def test_tsv_that_earlier_versions_read_otherwise_is_another_corpus(tmp_path: Path) -> None:
    (tmp_path / "tsv").mkdir()
    (tmp_path / "csv").mkdir()
    texts = (corpus_of(tmp_path / kind, kind, GOOD[kind]) for kind in ("tsv", "csv"))
    assert ["quotes" in corpus.origin["content"] for corpus in texts] == [True, False]


@settings(max_examples=50)
@given(st.lists(st.tuples(TEXTS, TEXTS)), st.sampled_from([csv.QUOTE_ALL, csv.QUOTE_MINIMAL]))
def test_csv_of_the_standard_library_is_read_as_written(rows: list[tuple[str, str]], quoting: int) -> None:
    stream = io.StringIO()
    writer = csv.writer(stream, quoting=csv.QUOTE_ALL if quoting == csv.QUOTE_ALL else csv.QUOTE_MINIMAL)
    writer.writerows([("en", "de"), *rows])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "train.csv"
        path.write_bytes(stream.getvalue().encode())
        assert [tuple(row.values()) for row in table_rows([str(path)], ",", "data.path")] == rows


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize(
    ("kind", "content", "said"),
    [
        ("csv", 'en,de\n"a,b\nc,d\n"e,f\n', r"train\.csv, line 4: no CSV \(',' expected after"),
        ("csv", 'en,de\na,b\n"c,d\n', r"train\.csv, line 3: no CSV \(unexpected end of data\)"),
        ("csv", "en,de\n\na,b\nc\n", r"train\.csv, line 4: has 1 fields, and line 1 2"),
        ("csv", "en,de\na,b,c\n", r"train\.csv, line 2: has 3 fields, and line 1 2; put quotes"),
        ("csv", b"en,de\na,b\nc\xe9,d\n", r"train\.csv, line 3: not UTF-8"),
        ("tsv", "en\tde\na\tb\nc\n", r"train\.tsv, line 3: has 1 fields, and line 1 2$"),
        ("tsv", "en\tfr\na\tb\n", "has the columns en, fr, neither translation nor de"),
        ("jsonl", '{"en": "a", "de": "b"}\n\n{"en": null, "de": "b"}\n', r"language en in line 3 of train\.jsonl"),
        ("jsonl", '{"en": "a", "de": "b"} {"en": "c", "de": "d"}\n', r"\(train\): has 1 lines and 2 rows"),
    ],
)
def test_lines_that_are_no_row_are_named_as_an_editor_shows_them(
    tmp_path: Path, kind: str, content: str | bytes, said: str, streaming: bool
) -> None:
    with pytest.raises(UserError, match=said) as caught:
        list(corpus_of(tmp_path, kind, content, streaming=streaming).rows("train"))
    assert "\n" not in str(caught.value)


def test_rows_over_several_lines_are_remarked(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "aiayn"):
        rows = list(corpus_of(tmp_path, "csv", 'en,de\n"a\nb",c\nd,"e ""f"""\n').rows("train"))
    assert rows == [("a b", "c"), ("d", 'e "f"')]
    (said,) = caplog.messages
    assert "train.csv has rows over several lines, 1 of them" in said


@pytest.mark.parametrize("kind", ["csv", "tsv"])
def test_parts_of_a_split_are_cut(tmp_path: Path, kind: str) -> None:
    separator = {"csv": ",", "tsv": "\t"}[kind]
    content = f"en{separator}de\n" + "".join(f"{number}{separator}x\n" for number in range(9))
    corpus = corpus_of(tmp_path, kind, content, split="train[7:]+train[:1]")
    assert [source for source, _ in corpus.rows("train")] == ["7", "8", "0"]


@pytest.mark.parametrize(("pack", "ending"), [(lzma.compress, ".xz"), (bz2.compress, ".bz2")])
def test_packed_tables_are_read(tmp_path: Path, pack: object, ending: str) -> None:
    assert callable(pack)
    content = pack(b"en\tde\n" + b"".join(b"NA\tb\n" for _ in range(3)))
    assert list(corpus_of(tmp_path, "tsv", content, ending=ending).rows("train")) == [("NA", "b")] * 3


def test_json_texts_that_look_like_values_are_texts(tmp_path: Path) -> None:
    content = "".join(json.dumps({"en": each, "de": "b"}) + "\n" for each in MISSING)
    assert [source for source, _ in corpus_of(tmp_path, "jsonl", content).rows("train")] == MISSING
