"""Rows of text as a table that is mapped into memory, however many there are."""

from __future__ import annotations

import tempfile
import weakref
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from aiayn.errors import UserError
from aiayn.system.scratch import make_scratch, remove_scratch

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    import datasets

_CHUNK = 10_000


def mapped_table(
    rows: Generator[tuple[str, ...]], columns: Sequence[str], *, key: str, cache_directory: Path | None
) -> datasets.Dataset:
    """Write rows to a file that is removed when the table is no longer in use.

    Args:
        rows: as many texts each as there are columns.
        columns: their names.
        key: the configuration key to blame.
        cache_directory: where to write; the system's temporary folder if not given.

    Raises:
        UserError: there is no row, or no room.
    """
    import datasets
    from datasets.arrow_writer import ArrowWriter

    folder = _scratch_folder(cache_directory)
    try:
        features = datasets.Features({name: datasets.Value("string") for name in columns})
        # Not Dataset.from_generator: it keeps a copy for ever, in the user's home, and hides the errors' messages.
        with closing(rows), ArrowWriter(path=str(folder / "rows.arrow"), features=features) as writer:
            while chunk := list(islice(rows, _CHUNK)):
                writer.write_batch(dict(zip(columns, map(list, zip(*chunk, strict=True)), strict=True)))
            count, _ = writer.finalize()
        if count == 0:
            raise UserError(f"{key}: the files hold no sentence; name others")
        table = datasets.Dataset.from_file(str(folder / "rows.arrow"))
    except OSError as error:
        remove_scratch(folder)
        raise UserError(f"{key}: cannot write to {folder} ({error.strerror}); free or change it") from error
    except BaseException:
        remove_scratch(folder)
        raise
    weakref.finalize(table, remove_scratch, folder)
    return table


def _scratch_folder(cache_directory: Path | None) -> Path:
    try:
        return make_scratch(cache_directory or Path(tempfile.gettempdir()), prefix="text-files-")
    except OSError as error:
        raise UserError(f"cannot create {error.filename} ({error.strerror}); change paths.cache") from error
