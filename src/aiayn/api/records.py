"""The records of many runs as one table."""

from dataclasses import asdict
from itertools import chain
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aiayn.api.words import folder as checked
from aiayn.config.identity import flatten
from aiayn.runs.ledger import Entry, read_ledger
from aiayn.system.extras import require

if TYPE_CHECKING:
    import pandas

COLUMNS = ("path", "state", "experiment", "seed", "steps", "seconds", "message")
"""Also of a folder without a readable run."""


def list_runs(folder: str | PathLike[str] = "runs") -> "pandas.DataFrame":
    """Return the runs below a folder, a row each, in the order of their paths.

    The columns are `path`; `state`, as `aiayn status` shows it ("trial" marks runs that are no results); and the fields
    of the record by dotted name, such as `scores.test.bleu.score`. Of a run that is not finished, `steps`, `seconds`
    and `message` are as in `aiayn status`. Without a readable run, the columns are those of `COLUMNS`.

    Raises:
        UserError: there is no such folder, or pandas is not installed.
    """
    require("pandas", extra="pandas", setting="aiayn.list_runs")
    import pandas

    rows = [_row(entry) for entry in read_ledger(Path(checked(folder, "folder")))]
    return pandas.DataFrame(rows, columns=[*dict.fromkeys([*chain(*rows), *COLUMNS])])


def _row(entry: Entry) -> dict[str, Any]:
    known: dict[str, Any] = {"path": str(entry.directory.path), "state": entry.state.value}
    if entry.record is not None:
        known |= {key: value for key, value in flatten(asdict(entry.record)).items() if value != {}}
        known["status"] = entry.record.status.value
    return known | {"steps": entry.step, "seconds": entry.seconds, "message": entry.message}
