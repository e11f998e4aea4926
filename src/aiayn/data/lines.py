r"""Reading lines of UTF-8 text, and naming the files that they are in.

Lines end at `\n` only: a lone `\r`, U+0085 or U+2028 is part of a sentence. One `\r` before the `\n` and a byte order
mark at the start are removed.
"""

import bz2
import gzip
import hashlib
import lzma
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from io import BufferedReader
from itertools import zip_longest
from pathlib import Path
from typing import Any, Final, TypeAlias

from aiayn.errors import UserError
from aiayn.system import files

TextPairs: TypeAlias = tuple[list[str], list[str]]
"""Source sentences and equally many target sentences."""

_BYTE_ORDER_MARK = "\N{ZERO WIDTH NO-BREAK SPACE}"
_LINE_BREAK = re.compile(r"\s*\n\s*")
_READERS: Mapping[str, Callable[[Any], Any]] = {
    "gzip": lambda file: gzip.GzipFile(fileobj=file),
    "bzip2": bz2.BZ2File,
    "xz": lzma.LZMAFile,
}
_FIRST_BYTES = {
    "gzip": b"\x1f\x8b",
    "bzip2": b"BZh",
    "xz": b"\xfd7zXZ\0",
    "zstd": b"\x28\xb5\x2f\xfd",
    "lz4": b"\x04\x22\x4d\x18",
    "zip": b"PK\x03\x04",
    "7z": b"7z\xbc\xaf\x27\x1c",
}
_LONGEST = max(map(len, _FIRST_BYTES.values()))
_BLOCK = 1 << 17  # bytes
PACKED_ENDINGS: Final = (".gz", ".bz2", ".xz")
"""Endings of the names of files that `file_lines` unpacks."""


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
        if number == 1 and (packing := _packing(line)):
            raise UserError(f"{place}: compressed ({packing}); unpack it") from error
        raise UserError(f"{place}, line {number}: not UTF-8 ({error.reason}); convert it") from error


def file_lines(path: Path, key: str) -> Iterator[str]:
    """Yield each line of a file, plain, gzip, bzip2 or xz (recognised by content); errors name the configuration key.

    Raises:
        UserError: The file cannot be read, is damaged, or is not UTF-8.
    """
    packing = None
    _check_kind(path, key)
    try:
        with path.open("rb") as file:
            packing = _packing(file.peek(_LONGEST))
            unpack = _READERS.get(packing or "")
            stream = BufferedReader(unpack(file), _BLOCK) if unpack else file
            yield from decoded_lines(stream, f"{key}: {path}")
    except (EOFError, zlib.error, lzma.LZMAError, OSError) as error:
        if not isinstance(error, OSError) or error.errno is None:  # bz2 and gzip raise an OSError without a number
            raise UserError(f"{key}: {path} is a damaged {packing} file; fetch it again") from error
        raise UserError(f"{key}: {path} cannot be read ({error.strerror}); fix the path or its permissions") from error


def _check_kind(path: Path, key: str) -> None:
    """Raise a UserError for a pipe or a device, which could not be read twice."""
    if files.is_special(path, key=key):
        raise UserError(f"{key}: {path} is a pipe or a device; write its text to a file and name that")


def _packing(content: bytes) -> str | None:
    """Return the name of the compression of a file by its first bytes; None for text."""
    return next((name for name, start in _FIRST_BYTES.items() if content.startswith(start)), None)


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
    _check_kind(path, key)
    try:
        with path.open("rb") as file:
            return {"file": path.name, "sha256": hashlib.file_digest(file, "sha256").hexdigest()}
    except OSError as error:
        raise UserError(f"{key}: {path} cannot be read ({error.strerror}); fix the path or its permissions") from error
