"""Corpora in text files: files, identity and errors; `test_lines` states what a line is."""

import gzip
from collections.abc import Sequence
from pathlib import Path

import pytest

from aiayn.data.corpora.corpus import Corpus
from aiayn.data.corpora.text_files import SplitFiles, TextFilesCorpus
from aiayn.errors import UserError


def corpus_of(source: Sequence[str] | str, target: Sequence[str] | str) -> TextFilesCorpus:
    return TextFilesCorpus(files={"train": SplitFiles(source, target)}, source_language="en", target_language="de")


def pairs(corpus: Corpus) -> list[tuple[str, ...]]:
    return list(corpus.rows("train"))


def write(path: Path, content: str | bytes) -> str:
    data = content.encode() if isinstance(content, str) else content
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return str(path)


def test_lists_keep_their_order_and_globs_are_sorted(tmp_path: Path) -> None:
    for name in ("2", "10", "1"):
        write(tmp_path / f"part{name}.en", f"source {name}\n")
        write(tmp_path / f"part{name}.de.gz", f"target {name}\n")
    source = [str(tmp_path / "part2.en"), str(tmp_path / "part1*.en")]
    target = [str(tmp_path / "part2.de.gz"), str(tmp_path / "part1*.de.gz")]
    found = pairs(corpus_of(source, target))
    assert found == [(f"source {name}", f"target {name}") for name in ("2", "1", "10")]


def test_an_existing_name_with_glob_characters_is_no_glob(tmp_path: Path) -> None:
    name = write(tmp_path / "news[1].txt", "a\n")
    assert pairs(corpus_of(name, name)) == [("a", "a")]


def test_pairs_are_read_from_any_position(tmp_path: Path) -> None:
    parts = [write(tmp_path / name, "".join(f"{name}{number}\n" for number in range(9))) for name in ("a", "b")]
    corpus = corpus_of(parts, parts)
    whole = pairs(corpus)
    assert corpus.size("train") == len(whole) == 18
    for start in (1, 9, 10, 18, 20):
        assert list(corpus.rows("train", start=start)) == whole[start:]


def test_identity_depends_on_the_content(tmp_path: Path) -> None:
    def identity(first: str, second: str, *, folder: str = "here", target: str = "t\nt\n") -> str:
        (tmp_path / folder).mkdir(exist_ok=True)
        sources = [write(tmp_path / folder / "1.en", first), write(tmp_path / folder / "2.en", second)]
        both = write(tmp_path / folder / "1.de", target)
        return corpus_of(sources, [both, both]).identity

    known = identity("a\nb\n", "c\nd\n")
    assert identity("a\nb\n", "c\nd\n", folder="elsewhere") == known
    others = {
        identity("c\nd\n", "a\nb\n"),
        identity("a\nb\n", "c\nd \n"),
        identity("a\nb\nc\n", "d\n"),
        identity("a\nb\n", "c\nd\n", target="t\nT\n"),
    }
    assert len(others | {known}) == 5


def test_identity_depends_on_languages_and_split(tmp_path: Path) -> None:
    name = write(tmp_path / "a", "a\n")
    files = SplitFiles(source=name, target=name)
    identities = {
        TextFilesCorpus(files={"train": files}, source_language="en", target_language="de").identity,
        TextFilesCorpus(files={"train": files}, source_language="en", target_language="fr").identity,
        TextFilesCorpus(files={"test": files}, source_language="en", target_language="de").identity,
    }
    assert len(identities) == 3


@pytest.mark.parametrize(
    ("source", "target", "said"),
    [
        (["good.en"] * 2, "good.en", ["data.train.source names 2 files", "data.train.target 1"]),
        ("good.en", "none.de", ["data.train.target", "none.de does not exist"]),
        ("*.xyz", "good.en", ["data.train.source", "*.xyz matches no file"]),
        (".", "good.en", ["data.train.source", "is a directory"]),
        ([], "good.en", ["data.train.source=[] names no file"]),
        ("good.en", "", ["data.train.target", "has the entry ''"]),
        ("good.en", "short.de", ["data.train: ", "good.en has 3 lines and short.de has 1"]),
    ],
)
def test_wrong_names_are_reported_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: list[str] | str, target: str, said: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "good.en", "a\nb\nc\n")
    write(tmp_path / "short.de", "a\n")
    with pytest.raises(UserError) as caught:
        pairs(corpus_of(source, target))
    message = str(caught.value)
    assert "\n" not in message
    assert [part for part in said if part not in message] == []
