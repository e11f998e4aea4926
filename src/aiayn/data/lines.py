r"""Lines of UTF-8 text as they are read everywhere here.

Lines end at `\n` alone: a lone `\r`, U+0085 or U+2028 within a sentence stays there. One `\r` before the `\n` is not
text, nor is a byte order mark at the start.
"""

import gzip
import re
import zlib
from collections.abc import Iterable, Iterator
from io import BufferedIOBase, BytesIO
from itertools import zip_longest
from pathlib import Path

from aiayn.errors import UserError

_LINE_BREAK = re.compile(r"\s*\n\s*")
_GZIP_MAGIC = b"\x1f\x8b"
_BLOCK = 1 << 20  # bytes asked for at a time; split as one, lines cost a fifth of what they do one by one


def decoded_lines(stream: Iterable[bytes], place: str, *, start: int = 1) -> Iterator[str]:
    """Yield each line of a binary stream as soon as the stream has it, without its end.

    Args:
        stream: a binary file, or anything else that yields lines.
        place: what to blame, as in "standard input".
        start: the number of the first line.

    Raises:
        UserError: a line is not UTF-8; those before it have been yielded.
    """
    number = start
    try:
        for number, line in enumerate(stream, start=start):
            text = line.removesuffix(b"\n").removesuffix(b"\r").decode()
            yield text.removeprefix("\N{ZERO WIDTH NO-BREAK SPACE}") if number == 1 else text
    except UnicodeDecodeError as error:
        raise UserError(f"{place}, line {number}: not UTF-8 ({error.reason}); convert it") from error


def file_lines(path: Path, key: str) -> Iterator[str]:
    """Yield each line of a file, plain or gzip.

    Args:
        path: the file; what it is decides how it is read, not how it is named.
        key: the configuration key to blame.

    Raises:
        UserError: the file cannot be read, is damaged, or is not UTF-8.
    """
    number = 0
    try:
        with _open(path) as file:
            for lines in _blocks(file):
                try:
                    texts = _texts(lines.decode(), is_start=number == 0)
                except UnicodeDecodeError:  # one by one, to blame the line
                    yield from decoded_lines(BytesIO(lines), f"{key}: {path}", start=number + 1)
                    raise
                yield from texts
                number += len(texts)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise UserError(f"{key}: {path} is a damaged gzip file after line {number}; fetch it again") from error
    except OSError as error:
        raise UserError(f"{key}: {path} cannot be read ({error.strerror}); mend the path or its permissions") from error


def aligned_lines(source: Path, target: Path, key: str) -> Iterator[tuple[str, str]]:
    """Yield the pairs of two files.

    Args:
        source: one file, plain or gzip.
        target: the other.
        key: what the configuration keys of both begin with, such as "data.train.".

    Raises:
        UserError: one cannot be read, or has more lines than the other.
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
    """The text with every line break inside it written as a space, Unicode's own line breaks too."""
    return " ".join(text.splitlines())


def breaks_as_spaces(text: str) -> str:
    r"""The text with every `\n` inside it, and the white space around, as one space."""
    return _LINE_BREAK.sub(" ", text) if "\n" in text else text


def _open(path: Path) -> BufferedIOBase:
    """Open for reading by what the file is: downloads are often named .gz and unpacked, or the reverse."""
    with path.open("rb") as file:
        packed = file.read(len(_GZIP_MAGIC)) == _GZIP_MAGIC
    return gzip.open(path) if packed else path.open("rb")


def _blocks(file: BufferedIOBase) -> Iterator[bytes]:
    """Yield the file in pieces of whole lines, as far as it can be read."""
    rest: list[bytes] = []
    while block := file.read1(_BLOCK):
        lines, end, begun = block.rpartition(b"\n")
        if end:
            yield b"".join([*rest, lines, end])
            rest = []
        rest.append(begun)
    if last := b"".join(rest):
        yield last


def _texts(lines: str, *, is_start: bool) -> list[str]:
    """What `decoded_lines` makes of the lines, all at once."""
    if is_start:
        lines = lines.removeprefix("\N{ZERO WIDTH NO-BREAK SPACE}")
    texts = lines.replace("\r\n", "\n").split("\n")
    if lines.endswith("\n"):
        texts.pop()
    else:
        texts[-1] = texts[-1].removesuffix("\r")
    return texts
