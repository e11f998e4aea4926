"""Reports as values: plain data, and tables that a notebook shows."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike, fspath
from typing import Any

from aiayn.api.words import folder, word, words
from aiayn.commands import report as report_command
from aiayn.commands.composing import typed_configuration
from aiayn.errors import UserError
from aiayn.reports import schema_generation
from aiayn.reports.content import content_text
from aiayn.reports.formats import Document, documents_collected, markdown

TEXTS = ("configuration", "page", "run")
"""Reports that are no tables."""


@dataclass(frozen=True)
class Report:
    """A report; a notebook shows its tables."""

    document: Document

    @property
    def content(self) -> dict[str, Any]:
        """The document of `aiayn report <noun> format=json`: numbers unrounded, None for those that are not finite."""
        content: dict[str, Any] = json.loads(content_text(self.document.content))
        return content

    @property
    def markdown(self) -> str:
        """The page that `output=<file>.md` writes."""
        return markdown(self.document)

    def _repr_markdown_(self) -> str:
        return self.markdown


def report(
    noun: str,
    *,
    runs: str | PathLike[str] = "runs",
    only: Mapping[str, Any] | None = None,
    **keys: Any,
) -> Report:
    """Make the report of `aiayn report <noun>`.

    Args:
        noun: comparison, cost, fidelity, hypotheses, matrix, paper, parameters, reproductions, sharpness, or
            table1 to table4.
        runs: the folder of runs, `paths.runs`.
        only: the runs that a table uses, as in {"scale": "nano"}.
        keys: further keys of the report, such as `against`.

    Raises:
        UserError: the runs cannot be compared, or a key is unknown, `output`, or `publish`.
    """
    if noun in TEXTS:
        raise UserError(f"noun={noun}: is no table of runs; take aiayn report {noun}")
    for key in ("output", "publish"):
        if keys.get(key) is not None:
            raise UserError(f"{key}={keys[key]}: the report is returned; write .markdown, or use aiayn report {noun}")
    own = [word(key, value) for key, value in keys.items()]
    config = typed_configuration(
        "report", [word("noun", noun), word("paths.runs", fspath(folder(runs, "runs"))), *words("only", only), *own]
    )
    with documents_collected() as documents:
        report_command.main(config)
    return Report(documents[0])


def document_schema(name: str) -> dict[str, Any]:
    """Generate the JSON Schema (draft 2020-12) of a document of `format=json`.

    Args:
        name: the verb or the noun of the report, such as "status" or "table3".

    Raises:
        UserError: no document has this name.
    """
    return schema_generation.document_schema(name)
