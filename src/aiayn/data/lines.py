r"""Reading lines of UTF-8 text.

Lines end at `\n` only: a lone `\r`, U+0085 or U+2028 is part of a sentence. One `\r` before the `\n` and a byte order
mark at the start are removed.
"""

import gzip
import re
import zlib
from collections.abc import Iterable, Iterator
from io import BufferedIOBase, BytesIO
from itertools import zip_longest
from pathlib import Path
from typing import TypeAlias

from aiayn.errors import UserError

TextPairs: TypeAlias = tuple[list[str], list[str]]
"""Source sentences and equally many target sentences."""

_BYTE_ORDER_MARK = "\N{ZERO WIDTH NO-BREAK SPACE}"
_LINE_BREAK = re.compile(r"\s*\n\s*")
_GZIP_MAGIC = b"\x1f\x8b"
_BLOCK = 1 << 20  # bytes; splitting whole blocks takes a fifth of the time of reading line by line


def decoded_lines(stream: Iterable[bytes], place: str, *, start: int = 1) -> Iterator[str]:
    """Yield each line of a binary stream without its end, as soon as it is available.

    Args:
        stream: A binary file or another iterable of lines.
        place: The stream's name in error messages.
        start: Number of the first line.

    Raises:
        UserError: A line is not UTF-8.
    """
    number = start
    try:
        for number, line in enumerate(stream, start=start):
            text = line.removesuffix(b"\n").removesuffix(b"\r").decode()
            yield text.removeprefix(_BYTE_ORDER_MARK) if number == 1 else text
    except UnicodeDecodeError as error:
        raise UserError(f"{place}, line {number}: not UTF-8 ({error.reason}); convert it") from error


def file_lines(path: Path, key: str) -> Iterator[str]:
    """Yield each line of a file; gzip is recognised by content, not by name.

    Args:
        path: The file.
        key: Configuration key named in errors.

    Raises:
        UserError: The file cannot be read, is damaged, or is not UTF-8.
    """
    number = 0
    try:
        with _open(path) as file:
            for block in _blocks(file):
                try:
                    texts = _split(block.decode(), is_start=number == 0)
                except UnicodeDecodeError:  # read line by line to find the number of the bad line
                    yield from decoded_lines(BytesIO(block), f"{key}: {path}", start=number + 1)
                    raise
                yield from texts
                number += len(texts)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise UserError(f"{key}: {path} is a damaged gzip file after line {number}; fetch it again") from error
    except OSError as error:
        raise UserError(f"{key}: {path} cannot be read ({error.strerror}); fix the path or its permissions") from error


def aligned_lines(source: Path, target: Path, key: str) -> Iterator[tuple[str, str]]:
    """Yield the line pairs of two files.

    Args:
        source: Source file, plain or gzip.
        target: Target file, plain or gzip.
        key: Common prefix of both configuration keys, such as "data.train.".

    Raises:
        UserError: A file cannot be read, or the numbers of lines differ.
    """
    for left, right in zip_longest(file_lines(source, f"{key}source"), file_lines(target, f"{key}target")):
        if left is None or right is None:
            sources, targets = (
                sum(1 for _ in file_lines(path, f"{key}{side}"))
                for path, side in ((source, "source"), (target, "target"))
            )
            both = key.removesuffix(".") or "source, target"
            raise UserError(
                f"{both}: {source} has {sources} lines and {target} has {targets}; they must be aligned line by line"
            )
        yield left, right


def one_line(text: str) -> str:
    """Replace every line break, Unicode's included, by a space."""
    return " ".join(text.splitlines())


def breaks_as_spaces(text: str) -> str:
    r"""Replace every `\n` and the white space around it by one space."""
    return _LINE_BREAK.sub(" ", text) if "\n" in text else text


def _open(path: Path) -> BufferedIOBase:
    with path.open("rb") as file:
        packed = file.read(len(_GZIP_MAGIC)) == _GZIP_MAGIC
    return gzip.open(path) if packed else path.open("rb")


def _blocks(file: BufferedIOBase) -> Iterator[bytes]:
    """Yield the file in blocks of whole lines; of a damaged file, all that is readable."""
    rest: list[bytes] = []
    while block := file.read1(_BLOCK):
        lines, end, begun = block.rpartition(b"\n")
        if end:
            yield b"".join([*rest, lines, end])
            rest = []
        rest.append(begun)
    if last := b"".join(rest):
        yield last


def _split(block: str, *, is_start: bool) -> list[str]:
    """Split a block as `decoded_lines` would."""
    if is_start:
        block = block.removeprefix(_BYTE_ORDER_MARK)
    texts = block.replace("\r\n", "\n").split("\n")
    last = texts.pop()
    return texts if block.endswith("\n") else [*texts, last.removesuffix("\r")]
