"""The vocabulary and biases that the numbers of parameters in Table 3 imply."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from aiayn.models.architecture import Architecture
from aiayn.models.transformer import Transformer, count_parameters
from aiayn.paper.table3 import Row, load_table3
from aiayn.reports.formats import Document, Grid, show

PAPER_ROWS = 37_000
"""Vocabulary entries of section 5.1."""

TENSOR2TENSOR_ROWS = 40_960
"""Rows that the authors' code of June 2017 gave the embedding matrix."""


@dataclass(frozen=True)
class Audit:
    """One row of the table, counted."""

    row: Row
    text: int
    """Parameters with 37,000 rows and projections without biases, by the paper's text."""
    code: int
    """Parameters with 40,960 rows and biased projections, by the authors' code of June 2017."""

    @property
    def printed(self) -> str:
        """The paper's integer; base's in brackets if the cell is blank."""
        cell = self.row.parameters
        return str(cell) if cell.printed else f"({load_table3().row('base').parameters})"

    def matches(self, count: int) -> bool | None:
        """Whether a count rounds to the printed integer; None if none is printed."""
        return str(round(count / 1e6)) == str(self.row.parameters) if self.row.parameters.printed else None


def audit_parameters() -> list[Audit]:
    """Count every row of Table 3 under both readings; no weight is allocated."""
    return [
        Audit(
            row,
            text=_count(row, vocabulary_size=PAPER_ROWS, projection_bias=False),
            code=_count(row, vocabulary_size=TENSOR2TENSOR_ROWS, projection_bias=True),
        )
        for row in load_table3().rows
    ]


def _count(row: Row, *, vocabulary_size: int, projection_bias: bool) -> int:
    settings = row.settings(load_table3()).items()
    model: dict[str, Any] = {key.removeprefix("model."): value for key, value in settings if key.startswith("model.")}
    architecture = Architecture(
        projection_bias=projection_bias, norm="post", layer_norm_epsilon=1e-6, max_positions=1024, **model
    )
    with torch.device("meta"):
        return count_parameters(Transformer(architecture, vocabulary_size=vocabulary_size))


def report_parameters(output: Path | None) -> None:
    """Print the audit, or write it to a .md file."""
    show(document(audit_parameters()), output)


def document(audits: Sequence[Audit]) -> Document:
    """The audit as plain data."""
    grid = Grid(
        "Parameters in millions",
        ("<row", "<change", "paper", "37,000 rows", "40,960 rows, biases"),
        (tuple(_cells(audit) for audit in audits),),
    )
    return Document("Table 3, parameters", "Written by `aiayn report parameters`.", [grid], [_summary(audits)])


def _cells(audit: Audit) -> tuple[str, ...]:
    def cell(count: int) -> str:
        matches = audit.matches(count)
        return f"{count / 1e6:.1f}" + ("" if matches is None else " =" if matches else " ≠")

    return audit.row.id, audit.row.label, audit.printed, cell(audit.text), cell(audit.code)


def _summary(audits: Sequence[Audit]) -> str:
    printed = [audit for audit in audits if audit.row.parameters.printed]
    text = sum(audit.matches(audit.text) is True for audit in printed)
    missed = [audit.row.id for audit in printed if not audit.matches(audit.code)]
    return (
        f"Of the {len(printed)} printed integers, {PAPER_ROWS:,} vocabulary rows and projections without biases "
        f"(the text) reproduce {text}; {TENSOR2TENSOR_ROWS:,} rows and biased projections (the authors' code of "
        f"June 2017) reproduce {len(printed) - len(missed)}. Known exception: {', '.join(missed)}. "
        "Numbers in brackets are base's: the paper leaves these cells blank."
    )
