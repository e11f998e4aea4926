"""The changes of a run in one line, as the paper prints its row."""

from collections.abc import Mapping
from typing import Any

from aiayn.config.freeze import plain
from aiayn.config.identity import result_leaves
from aiayn.config.schema import TrainConfig
from aiayn.paper.tables import SETTINGS, load_table3


def printed_difference(config: TrainConfig) -> str:
    """The row's changes to base, as in "N=2 (paper: N=4)", and the run's changes to its experiment."""
    difference = config.identity.difference
    rows = {f"table3/{row.id}": row for row in load_table3().rows}
    row = rows.get(config.identity.experiment)
    if row is None:
        return difference
    own = result_leaves(plain(config))
    trained = {key: own.get(key) for key in row.changes}
    printed = _in_words(row.changes) or row.label
    if trained != row.changes:
        printed = f"{_in_words(trained)} (paper: {printed})"
    return f"{printed}; here {difference}" if difference else printed


def _in_words(changes: Mapping[str, Any]) -> str:
    """Changes in the paper's symbols; equal widths of keys and values are one change."""
    named = {SETTINGS.get(key) or key.rpartition(".")[2]: value for key, value in changes.items()}
    if "d_k" in named and named["d_k"] == named.get("d_v"):
        del named["d_v"]
        named = {"d_k=d_v" if name == "d_k" else name: value for name, value in named.items()}
    return ", ".join(f"{name}={value}" for name, value in named.items())
