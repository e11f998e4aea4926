"""Corpora in text files: files, identity and errors; `test_lines` states what a line is."""

import gzip
from collections.abc import Callable, Sequence
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


Broken = Callable[[Path], tuple[Sequence[str] | str, Sequence[str] | str]]


def good(folder: Path) -> str:
    return write(folder / "good.en", "a\nb\nc\n")


def truncated(folder: Path) -> str:
    path = folder / "cut.gz"
    content = gzip.compress("".join(f"{number * 7919}\n" for number in range(3000)).encode())
    path.write_bytes(content[: len(content) // 2])
    return str(path)


def flipped(folder: Path) -> str:
    path = folder / "flipped.gz"
    content = bytearray(gzip.compress(b"a\nb\nc\n"))
    content[-8] ^= 1  # the checksum
    path.write_bytes(content)
    return str(path)


MISTAKES: dict[str, tuple[Broken, list[str]]] = {
    "lines differ": (
        lambda folder: (good(folder), write(folder / "short.de", "a\n")),
        ["data.train", "good.en has 3 lines", "short.de has 1"],
    ),
    "numbers of files differ": (
        lambda folder: ([good(folder)] * 2, good(folder)),
        ["data.train.source names 2 files", "data.train.target 1"],
    ),
    "missing file": (
        lambda folder: (good(folder), str(folder / "none.de")),
        ["data.train.target", "none.de does not exist"],
    ),
    "glob without match": (
        lambda folder: (str(folder / "*.xyz"), good(folder)),
        ["data.train.source", "*.xyz matches no file"],
    ),
    "directory": (
        lambda folder: (str(folder), good(folder)),
        ["data.train.source", "is a directory"],
    ),
    "nothing named": (lambda folder: ([], good(folder)), ["data.train.source=[] names no file"]),
    "empty name": (lambda folder: (good(folder), ""), ["data.train.target", "has the entry ''"]),
    "not UTF-8": (
        lambda folder: (write(folder / "latin.en", b"a\nb\n" + "ü\n".encode("latin-1")), good(folder)),
        ["data.train.source", "latin.en, line 3", "not UTF-8"],
    ),
    "truncated gzip": (
        lambda folder: (good(folder), truncated(folder)),
        ["data.train.target", "cut.gz is a damaged gzip file"],
    ),
    "gzip with a wrong checksum": (
        lambda folder: (flipped(folder), good(folder)),
        ["data.train.source", "flipped.gz is a damaged gzip file"],
    ),
}


@pytest.mark.parametrize(("broken", "said"), MISTAKES.values(), ids=MISTAKES.keys())
def test_errors_take_one_line(tmp_path: Path, broken: Broken, said: list[str]) -> None:
    with pytest.raises(UserError) as caught:
        pairs(corpus_of(*broken(tmp_path)))
    message = str(caught.value)
    assert "\n" not in message
    assert [part for part in said if part not in message] == []
