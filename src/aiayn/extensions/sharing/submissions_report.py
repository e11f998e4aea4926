"""`aiayn replay check=<folder>` and `submit=<folder>`: submitted records verified without training, and made."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from aiayn.errors import RunFailedError, UserError
from aiayn.extensions.sharing.replays import RecordedRun
from aiayn.extensions.sharing.submissions import findings, records_below, submit
from aiayn.reports.formats import Document, show
from aiayn.reports.grid import Grid
from aiayn.reports.numbers import counted

SCHEMA = "records/1"


def check_records(folder: Path) -> None:
    """Print the findings of each record below a folder; RunFailedError if there are any, UserError without records."""
    found = {path.relative_to(folder).as_posix(): findings(path) for path in records_below(folder)}
    if not found:
        raise UserError(f"check={folder}: has no records; they lie in <table>/<row>/<name>")
    show(document(found), None)
    wrong = [name for name, lines in found.items() if lines]
    if wrong:
        raise RunFailedError(f"{len(wrong)} of {len(found)} records are not as they should be: {', '.join(wrong)}")


def submit_record(run: RecordedRun, folder: Path) -> None:
    """Copy a run's record below the folder, and print its place; UserError as `submit`."""
    made = submit(run, folder)
    content = plain({run.record.name: []})
    show(Document(f"{made}", "Written by `aiayn replay`.", [], lead=f"{made}", schema=SCHEMA, content=content), None)


def plain(found: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """The findings of each record, for JSON."""
    return {"records": [{"name": name, "findings": list(each)} for name, each in found.items()]}


def document(found: Mapping[str, Sequence[str]]) -> Document:
    """The findings by record."""
    lines = tuple((name, "ok" if not each else counted(len(each), "finding")) for name, each in found.items())
    return Document(
        "Submitted records",
        "Written by `aiayn replay`.",
        [Grid("", ("<record", "<result"), (lines,))],
        [line for each in found.values() for line in each],
        remarks_title="Findings",
        schema=SCHEMA,
        content=plain(found),
    )
