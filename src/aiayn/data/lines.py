r"""Reading lines of UTF-8 text, and naming the files that they are in.

Lines end at `\n` only: a lone `\r`, U+0085 or U+2028 is part of a sentence. One `\r` before the `\n` and a byte order
mark at the start are removed.
"""

import gzip
import hashlib
import re
import zlib
from collections.abc import Iterable, Iterator
from io import BufferedReader
from itertools import zip_longest
from pathlib import Path
from typing import TypeAlias

from aiayn.errors import UserError

TextPairs: TypeAlias = tuple[list[str], list[str]]
"""Source sentences and equally many target sentences."""

_BYTE_ORDER_MARK = "\N{ZERO WIDTH NO-BREAK SPACE}"
_LINE_BREAK = re.compile(r"\s*\n\s*")
_GZIP_MAGIC = b"\x1f\x8b"
_BLOCK = 1 << 17  # bytes


def decoded_lines(stream: Iterable[bytes], place: str) -> Iterator[str]:
    """Yield each line of a binary stream without its end, as soon as it is available; errors name its `place`.

    Raises:
        UserError: A line is not UTF-8.
    """
    number = 1
    try:
        for number, line in enumerate(stream, start=1):
            text = line.removesuffix(b"\n").removesuffix(b"\r").decode()
            yield text.removeprefix(_BYTE_ORDER_MARK) if number == 1 else text
    except UnicodeDecodeError as error:
        raise UserError(f"{place}, line {number}: not UTF-8 ({error.reason}); convert it") from error


def file_lines(path: Path, key: str) -> Iterator[str]:
    """Yield each line of a file, plain or gzip (recognised by content); errors name the configuration key.

    Raises:
        UserError: The file cannot be read, is damaged, or is not UTF-8.
    """
    try:
        with path.open("rb") as file:
            packed = file.peek(len(_GZIP_MAGIC)).startswith(_GZIP_MAGIC)
            stream = BufferedReader(gzip.GzipFile(fileobj=file), _BLOCK) if packed else file
            yield from decoded_lines(stream, f"{key}: {path}")
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise UserError(f"{key}: {path} is a damaged gzip file; fetch it again") from error
    except OSError as error:
        raise UserError(f"{key}: {path} cannot be read ({error.strerror}); fix the path or its permissions") from error


def count_lines(path: Path, key: str) -> int:
    """Return the number of lines of a file; errors as for `file_lines`."""
    return sum(1 for _ in file_lines(path, key))


def aligned_lines(source: Path, target: Path, key: str) -> Iterator[tuple[str, str]]:
    """Yield the line pairs of two files; `key` is the prefix of both configuration keys, such as "data.train.".

    Raises:
        UserError: A file cannot be read, or the numbers of lines differ.
    """
    for left, right in zip_longest(file_lines(source, f"{key}source"), file_lines(target, f"{key}target")):
        if left is None or right is None:
            sources, targets = count_lines(source, f"{key}source"), count_lines(target, f"{key}target")
            raise UserError(
                f"{key.removesuffix('.') or 'source, target'}: {source} has {sources} lines and {target} has "
                f"{targets}; they must be aligned line by line"
            )
        yield left, right


def one_line(text: str) -> str:
    """Replace every line break, Unicode's included, by a space."""
    return " ".join(text.splitlines())


def breaks_as_spaces(text: str) -> str:
    r"""Replace every `\n` and the white space around it by one space."""
    return _LINE_BREAK.sub(" ", text) if "\n" in text else text


def file_entry(path: Path, key: str) -> dict[str, str]:
    """Return the name and SHA-256 of a file; a UserError if it cannot be read."""
    try:
        with path.open("rb") as file:
            return {"file": path.name, "sha256": hashlib.file_digest(file, "sha256").hexdigest()}
    except OSError as error:
        raise UserError(f"{key}: {path} cannot be read ({error.strerror}); fix the path or its permissions") from error
