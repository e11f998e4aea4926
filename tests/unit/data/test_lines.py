"""Only a line feed ends a line."""

import bz2
import gzip
import io
import lzma
import os
import tempfile
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiayn.data.lines import aligned_lines, decoded_lines, file_entry, file_lines, one_line
from aiayn.errors import UserError

BREAKS = "\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"
TEXTS = st.lists(st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"]) | st.sampled_from(BREAKS)))


@given(TEXTS, st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_lines_are_read_unchanged(texts: list[str], end: str, is_ended: bool) -> None:
    # What would be read as the end of a line, or as the mark of a file, is no text.
    texts = [text.removesuffix("\r") + "." for text in texts]
    joined = end.join(texts) + (end if is_ended or not texts else "")
    expected = texts or [""]
    expected[0] = expected[0].removeprefix("\ufeff")
    assert list(decoded_lines(io.BytesIO(joined.encode()), "here")) == expected
    with tempfile.NamedTemporaryFile() as file:
        file.write(joined.encode())
        file.flush()
        assert list(file_lines(Path(file.name), "here")) == expected


def test_a_byte_order_mark_is_removed_at_the_start_only() -> None:
    assert list(decoded_lines([b"\xef\xbb\xbfa\n", b"\xef\xbb\xbfb\n"], "here")) == ["a", "\ufeffb"]


def test_lines_before_bad_bytes_are_yielded() -> None:
    lines = decoded_lines([b"a\n", b"b\n", b"caf\xe9\n", b"d\n"], "standard input")
    assert list(islice(lines, 2)) == ["a", "b"]
    with pytest.raises(UserError, match=r"^standard input, line 3: not UTF-8 \("):
        next(lines)


PACKERS: dict[str, Callable[[bytes], bytes]] = {"gzip": gzip.compress, "bzip2": bz2.compress, "xz": lzma.compress}


@pytest.mark.parametrize("packing", PACKERS)
def test_packed_files_are_recognised_by_content(tmp_path: Path, packing: str) -> None:
    (tmp_path / "packed.txt").write_bytes(PACKERS[packing]("ä\nb".encode()))
    (tmp_path / "plain.gz").write_bytes("ä\nb\n".encode())
    assert list(aligned_lines(tmp_path / "packed.txt", tmp_path / "plain.gz", "")) == [("ä", "ä"), ("b", "b")]


@pytest.mark.parametrize("packing", ["bzip2", "xz"])
@pytest.mark.parametrize("damage", [lambda packed: packed[:-9], lambda packed: packed[:20] + bytes(40) + packed[60:]])
def test_damaged_files_are_reported(tmp_path: Path, packing: str, damage: Callable[[bytes], bytes]) -> None:
    text = "".join(f"line {number * number}\n" for number in range(9_999))
    (tmp_path / "damaged").write_bytes(damage(PACKERS[packing](text.encode())))
    with pytest.raises(UserError, match=f"source: .*damaged is a damaged {packing} file; fetch it again"):
        list(file_lines(tmp_path / "damaged", "source"))


ZSTD = bytes.fromhex("28b52ffd0458290000c3a40a62039d1c25")


@pytest.mark.parametrize(
    ("packing", "content"), [("zstd", ZSTD), ("zip", b"PK\x03\x04\x14\xff"), ("gzip", b"\x1f\x8b\x08")]
)
def test_what_is_packed_and_not_unpacked_here_is_called_so(tmp_path: Path, packing: str, content: bytes) -> None:
    with pytest.raises(UserError, match=rf"^standard input: compressed \({packing}\); unpack it$"):
        list(decoded_lines(io.BytesIO(content), "standard input"))
    (tmp_path / "packed").write_bytes(content)
    said = "is a damaged gzip file" if packing == "gzip" else rf"packed: compressed \({packing}\); unpack it"
    with pytest.raises(UserError, match=said):
        list(file_lines(tmp_path / "packed", "source"))


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"a\n\xff\n", "source: .*damaged, line 2: not UTF-8"),
        (gzip.compress(b"a\nb\n" * 999, mtime=0)[:-9], "source: .* is a damaged gzip file; fetch"),
        (gzip.compress(b"a\n", mtime=0)[:-8] + bytes(8), "source: .* is a damaged gzip file; fetch"),
        (None, "source: .* cannot be read"),
    ],
)
def test_unreadable_files_are_reported(tmp_path: Path, content: bytes | None, complaint: str) -> None:
    if content is not None:
        (tmp_path / "damaged").write_bytes(content)
    with pytest.raises(UserError, match=complaint):
        list(file_lines(tmp_path / "damaged", "source"))


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to("/dev/zero")])
def test_a_pipe_or_a_device_is_not_waited_for(make: Callable[[Path], None], tmp_path: Path) -> None:
    path = tmp_path / "train.en"
    make(path)
    for read in (lambda: list(file_lines(path, "data.train")), lambda: file_entry(path, "data.train")):
        with pytest.raises(UserError, match=r"^data\.train: .*train\.en is a pipe or a device; write its text"):
            read()


@pytest.mark.parametrize(
    ("key", "complaint"), [("", "^source, target: .*a has 2 lines and .*b has 3"), ("data.dev.", "^data.dev: ")]
)
def test_files_of_unequal_length_are_refused(tmp_path: Path, key: str, complaint: str) -> None:
    (tmp_path / "a").write_text("1\n2\n")
    (tmp_path / "b").write_text("1\n2\n3\n")
    pairs = aligned_lines(tmp_path / "a", tmp_path / "b", key)
    assert list(islice(pairs, 2)) == [("1", "1"), ("2", "2")]
    with pytest.raises(UserError, match=complaint):
        next(pairs)


@given(st.text())
def test_one_line_is_one_line_and_keeps_every_word(text: str) -> None:
    assert len(one_line(text).splitlines()) <= 1
    assert one_line(text).split() == text.split()
