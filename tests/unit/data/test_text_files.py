"""Corpora in text files: files, identity and errors; `test_lines` states what a line is."""

import gc
import gzip
import os
import resource
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from aiayn.data.corpora.corpus import Corpus
from aiayn.data.corpora.text_files import SplitFiles, TextFilesCorpus
from aiayn.errors import UserError


def corpus_of(source: Sequence[str] | str, target: Sequence[str] | str, cache: Path | None = None) -> TextFilesCorpus:
    files = SplitFiles(source=source, target=target)
    return TextFilesCorpus(files={"train": files}, source_language="en", target_language="de", cache_directory=cache)


def pairs(corpus: Corpus) -> list[tuple[str, str]]:
    table = corpus.split("train")
    return list(zip(table["source"], table["target"], strict=True))


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


def test_long_files_are_read_in_order(tmp_path: Path) -> None:
    count = 25_001
    source = write(tmp_path / "a.en", "".join(f"s{number}\n" for number in range(count)))
    target = write(tmp_path / "a.de", "".join(f"t{number}\n" for number in range(count)))
    assert pairs(corpus_of(source, target)) == [(f"s{number}", f"t{number}") for number in range(count)]


def test_tables_are_mapped_from_the_cache_and_removed_after_use(tmp_path: Path) -> None:
    name = write(tmp_path / "a.txt", "a\nb\n")
    cache = tmp_path / "cache"
    table = corpus_of(name, name, cache).split("train")
    (mapped,) = (Path(file["filename"]) for file in table.cache_files)
    assert mapped.is_relative_to(cache)
    assert mapped.is_file()
    del table
    gc.collect()
    assert list(cache.iterdir()) == []


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
    "no sentence": (
        lambda folder: (write(folder / "empty.en", ""), write(folder / "empty.de.gz", "")),
        ["data.train", "no sentence"],
    ),
}


@pytest.mark.parametrize(("broken", "said"), MISTAKES.values(), ids=MISTAKES.keys())
def test_errors_take_one_line_and_leave_no_files(tmp_path: Path, broken: Broken, said: list[str]) -> None:
    source, target = broken(tmp_path)
    cache = tmp_path / "cache"
    with pytest.raises(UserError) as caught:
        corpus_of(source, target, cache).split("train")
    message = str(caught.value)
    assert "\n" not in message
    assert [part for part in said if part not in message] == []
    assert not cache.exists() or list(cache.iterdir()) == []


def test_a_split_without_files_is_named() -> None:
    corpus = TextFilesCorpus(files={}, source_language="en", target_language="de")
    with pytest.raises(UserError, match=r"data\.dev is not set.*data\.dev\.source"):
        corpus.split("dev")


def test_a_cache_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    name = write(tmp_path / "file", "a\n")
    with pytest.raises(UserError, match=r"cannot create .*paths\.cache"):
        corpus_of(name, name, tmp_path / "file" / "cache").split("train")


def test_a_full_disk_is_reported_and_freed(tmp_path: Path) -> None:
    name = write(tmp_path / "a.txt", "".join(f"{number}\n" for number in range(30_000)))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))  # Python ignores the signal: writing fails
    try:
        with pytest.raises(UserError, match=r"^data\.train: cannot write to ") as caught:
            corpus_of(name, name, tmp_path / "cache").split("train")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert "None" not in str(caught.value)
    assert "\n" not in str(caught.value)
    assert list((tmp_path / "cache").iterdir()) == []


def test_neither_home_nor_network_nor_terminal_is_touched(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    name = write(tmp_path / "a.txt", "a\nb\n")
    program = f"""
import socket
def refuse(*_): raise SystemExit("network")
socket.socket.connect = socket.getaddrinfo = refuse
from aiayn.data.corpora.text_files import SplitFiles, TextFilesCorpus
files = SplitFiles(source={name!r}, target={name!r})
corpus = TextFilesCorpus(files={{"train": files}}, source_language="en", target_language="de")
print(len(corpus.identity), len(corpus.split("train")))
"""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("HF_", "XDG_"))}
    done = subprocess.run(
        [sys.executable, "-c", program], env={**kept, "HOME": str(home)}, capture_output=True, text=True, check=True
    )
    assert (done.stdout, done.stderr) == ("64 2\n", "")
    assert list(home.rglob("*")) == []
