"""The vocabulary and biases that the numbers of parameters in Table 3 imply."""

from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import torch
from omegaconf import OmegaConf

from aiayn.builders.models import create_transformer
from aiayn.config.compose import compose_command
from aiayn.config.model_schema import TransformerConfig
from aiayn.models.translation_model import count_parameters
from aiayn.paper.tables import Row, load_table3
from aiayn.reports.content import Content
from aiayn.reports.formats import Document, show
from aiayn.reports.grid import Grid

PAPER_ROWS = 37_000
"""Vocabulary entries of section 5.1."""

TENSOR2TENSOR_ROWS = 40_960
"""Rows that the authors' code of June 2017 gave the embedding matrix."""


@dataclass(frozen=True)
class CountedRow:
    """The parameters of a row of Table 3."""

    row: str
    """Row of Table 3."""
    change: str
    """The row's change to base."""
    printed_millions: float | None
    """The number as printed; None where blank."""
    by_text: int
    """The count by the paper's text."""
    by_code: int
    """The count by the authors' code of June 2017."""


@dataclass(frozen=True)
class ParametersContent(Content):
    """The parameters of Table 3, counted: aiayn report parameters."""

    schema: ClassVar = "parameters/1"

    rows: tuple[CountedRow, ...]
    """The rows of Table 3."""
    rows_by_text: int
    """Entries of the vocabulary by the paper's text."""
    rows_by_code: int
    """Rows of the embedding matrix by the authors' code of June 2017."""


def report_parameters(output: Path | None) -> None:
    """Print the audit, or write it to a .md file."""
    show(document(), output)


def document() -> Document:
    """Every row of Table 3, counted by the paper's text and by the authors' code of June 2017."""
    table = load_table3()
    lines, rows = [], []
    for row in table.rows:
        stated = str(row.parameters) if row.parameters.printed else f"({table.row('base').parameters})"
        by_text = count(row, vocabulary_size=PAPER_ROWS, projection_bias=False)
        by_code = count(row, vocabulary_size=TENSOR2TENSOR_ROWS, projection_bias=True)
        rows.append(CountedRow(row.id, row.label, row.parameters.value, by_text, by_code))
        lines.append((row.id, row.label, stated, _cell(row, by_text), _cell(row, by_code)))
    headings = ("<row", "<change", "paper", "37,000 rows", "40,960 rows, biases")
    missed = [row for row, *_, code in lines if code.endswith("≠")]
    text, code = (sum(line[column].endswith("=") for line in lines) for column in (3, 4))
    summary = (
        f"Of the {code + len(missed)} printed integers, {PAPER_ROWS:,} vocabulary rows and projections without biases "
        f"(the text) reproduce {text}; {TENSOR2TENSOR_ROWS:,} rows and biased projections (the authors' code of "
        f"June 2017) reproduce {code}. Known exception: {', '.join(missed)}. "
        "Numbers in brackets are base's: the paper leaves these cells blank."
    )
    grid = Grid("Parameters in millions", headings, (tuple(lines),))
    return Document(
        "Table 3, parameters",
        "Written by `aiayn report parameters`.",
        [grid],
        [summary],
        content=ParametersContent(tuple(rows), PAPER_ROWS, TENSOR2TENSOR_ROWS),
    )


def count(row: Row, *, vocabulary_size: int, projection_bias: bool) -> int:
    """The parameters of a row's model; no weight is allocated."""
    settings = row.settings(load_table3()).items()
    model: dict[str, Any] = {key.removeprefix("model."): value for key, value in settings if key.startswith("model.")}
    config = replace(_base(), **model, projection_bias=projection_bias)
    with torch.device("meta"):
        return count_parameters(create_transformer(config, rows=vocabulary_size))


@cache
def _base() -> TransformerConfig:
    model = OmegaConf.to_object(compose_command("train", ["experiment=table3/base"]).model)
    assert isinstance(model, TransformerConfig)
    return model


def _cell(row: Row, parameters: int) -> str:
    """Millions, and whether they round to the printed integer."""
    is_equal = str(round(parameters / 1e6)) == str(row.parameters)
    mark = "" if not row.parameters.printed else " =" if is_equal else " ≠"
    return f"{parameters / 1e6:.1f}{mark}"
