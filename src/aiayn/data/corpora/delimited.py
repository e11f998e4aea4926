"""Tables in text files: CSV, TSV and JSON lines of a folder in the hub's format.

`datasets` reads CSV and TSV by pandas, which takes NA, null and numbers for values, and a quote at the start of a line
of TSV for the start of a text of several lines. Here every field is the text that the file has.
"""

import csv
import logging
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import islice
from pathlib import Path

from aiayn.data.lines import file_lines
from aiayn.errors import UserError

TAB = "\t"

logger = logging.getLogger("aiayn")


def table_rows(files: Sequence[str], separator: str, key: str) -> Iterator[dict[str, str]]:
    """Yield the rows of files whose first line names the columns; blank lines are none.

    TSV has no quotes: a line is a row. In CSV, a quoted field may go over several lines, which is remarked.

    Raises:
        UserError: A file cannot be read, has other columns than the first, or a row has more or fewer fields.
    """
    columns: list[str] = []
    for file in map(Path, files):
        rows = _tab_separated(file, key) if separator == TAB else _comma_separated(file, separator, key)
        _, header = next(rows, (1, []))
        columns = columns or header
        if header != columns:
            raise UserError(f"{key}: {file} has the columns {', '.join(header)}, and {files[0]} {', '.join(columns)}")
        for line, fields in rows:
            if len(fields) != len(columns):
                advice = (
                    "" if separator == TAB else "; put quotes around a text with a separator, and double its quotes"
                )
                raise UserError(
                    f"{key}: {file}, line {line}: has {len(fields)} fields, and line 1 {len(columns)}{advice}"
                )
            yield dict(zip(columns, fields, strict=True))


def table_columns(files: Sequence[str], separator: str, key: str) -> list[str]:
    """Return the names in the first line of the first file."""
    rows = _tab_separated(Path(files[0]), key) if separator == TAB else _comma_separated(Path(files[0]), separator, key)
    return next(rows, (1, []))[1]


def _tab_separated(file: Path, key: str) -> Iterator[tuple[int, list[str]]]:
    for number, line in enumerate(file_lines(file, key), start=1):
        if line:
            yield number, line.split(TAB)


def _comma_separated(file: Path, separator: str, key: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the fields of each row, and the number of its last line."""
    reader = csv.reader((f"{line}\n" for line in file_lines(file, key)), delimiter=separator, strict=True)
    end, longer = 0, 0
    try:
        for fields in reader:
            longer += reader.line_num - end > 1
            end = reader.line_num
            if fields:
                yield end, fields
    except csv.Error as error:
        raise UserError(
            f"{key}: {file}, line {reader.line_num}: no CSV ({error}); double the quotes of a text, or name a TSV"
        ) from error
    if longer:
        _remark_longer(str(file), longer, key)


@cache
def _remark_longer(file: str, longer: int, key: str) -> None:
    """Log, once, that texts go over several lines."""
    logger.warning(
        "%s: %s has rows over several lines, %s of them, by line breaks between quotes; look if they are meant",
        key,
        file,
        f"{longer:,}",
    )


def json_line(files: Sequence[str], row: int, key: str) -> str | None:
    """Name the line of a row, counted from 0, of JSON lines, as an editor numbers it; None if there is none."""
    found = ((file, number) for file in files for number in _json_lines(file, key))
    place = next(islice(found, row, None), None)
    return place and f"line {place[1]} of {Path(place[0]).name}"


def count_json_lines(files: Sequence[str], key: str) -> int:
    """Return the number of lines that are not blank."""
    return sum(1 for file in files for _ in _json_lines(file, key))


def _json_lines(file: str, key: str) -> Iterator[int]:
    return (number for number, line in enumerate(file_lines(Path(file), key), start=1) if line.strip())
