"""The changes of a run in one line: as the paper prints its row, and further ones."""

from collections.abc import Mapping
from typing import Any

from omegaconf import OmegaConf

from aiayn.config import store
from aiayn.config.compose import beside_the_command, compose_command
from aiayn.config.difference import changed
from aiayn.config.freeze import plain
from aiayn.config.identity import result_leaves
from aiayn.config.schema import TrainConfig
from aiayn.paper.tables import SETTINGS, load_table3

TABLE = "table3/"

MOST = 8
"""Differences that are named; the others are counted."""


def printed_difference(config: TrainConfig) -> str:
    """The row's changes to base, as in "N=2 (paper: N=4)", and further changes of the run.

    A run of no row of the paper is compared with base at the same scale, its corpus aside, unless the scale is the
    user's own, which cannot be composed here.
    """
    rows = {f"{TABLE}{row.id}": row for row in load_table3().rows}
    row = rows.get(config.identity.experiment)
    if row is None:
        return _in_words(_changes_in_base(config)) or "as base"
    own = result_leaves(plain(config))
    trained = {key: own.get(key) for key in row.changes}
    printed = _in_words(row.changes) or row.label
    if trained != row.changes:
        printed = f"{_in_words(trained)} (paper: {printed})"
    return f"{printed}; here {config.identity.difference}" if config.identity.difference else printed


def _changes_in_base(config: TrainConfig) -> dict[str, Any]:
    """The keys in which a configuration differs from base at its scale, and its values."""
    identity = config.identity
    if identity.scale not in store.options("scale") or identity.fidelity not in store.options("fidelity"):
        return {}
    words = [f"experiment={TABLE}base", f"scale={identity.scale}", f"fidelity={identity.fidelity}"]
    with beside_the_command():
        changes = changed(OmegaConf.structured(config), compose_command("train", words))
    return {key: value for key, value in changes.items() if not key.startswith("data.")}


def _in_words(changes: Mapping[str, Any]) -> str:
    """Changes in the paper's symbols if it has them; equal widths of keys and values are one change."""
    named = {SETTINGS.get(key) or key.rpartition(".")[2]: value for key, value in changes.items()}
    if "d_k" in named and named["d_k"] == named.get("d_v"):
        del named["d_v"]
        named = {"d_k=d_v" if name == "d_k" else name: value for name, value in named.items()}
    words = [f"{name}={value}" for name, value in named.items()]
    more = len(words) - MOST
    return ", ".join(words[:MOST]) + (f" and {more} more" if more > 0 else "")
