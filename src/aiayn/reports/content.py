"""The content of documents for programs: the dataclasses that write them, and that their schemas are generated from."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, ClassVar

from aiayn.registry import extensions
from aiayn.runs.record import json_text


@dataclass(frozen=True)
class Content:
    """The content of a document for programs: all numbers, unrounded.

    A subclass is a dataclass whose fields are the keys.

    The docstrings of the subclass and of its fields, and those of the dataclasses in it, are the explanations in the
    JSON Schema, so every field has one.
    """

    schema: ClassVar[str]
    """The name of the document and its version, as in cost/1; it grows when a key goes or changes its meaning."""


CONTENTS: Mapping[str, str] = {
    "check": "aiayn.reports.model_check:CheckContent",
    "compare": "aiayn.reports.paired_content:CompareContent",
    "comparison": "aiayn.reports.comparison_grids:ComparisonContent",
    "configuration": "aiayn.reports.configuration_content:ConfigurationContent",
    "cost": "aiayn.reports.cost:CostContent",
    "evaluate": "aiayn.reports.row:EvaluateContent",
    "fidelity": "aiayn.reports.fidelity:FidelityContent",
    "matrix": "aiayn.reports.matrix:MatrixContent",
    "paper": "aiayn.reports.paper:PaperContent",
    "parameters": "aiayn.reports.parameters:ParametersContent",
    "prepare": "aiayn.reports.preparation:PrepareContent",
    "reproductions": "aiayn.reports.reproductions:ReproductionsContent",
    "run": "aiayn.reports.row:RunContent",
    "status": "aiayn.reports.status:StatusContent",
    "sweep": "aiayn.reports.sweep:SweepContent",
    "table2": "aiayn.reports.tables.table2:Table2Content",
    "table3": "aiayn.reports.tables.table3:Table3Content",
}
"""The core's subclasses of `Content`, `module:name`, by the names of their documents."""


def contents() -> dict[str, str]:
    """The subclasses of `Content` of the core and of all extensions, `module:name`, by the names of their documents."""
    added = {name: kind for each in extensions().values() for name, kind in each.contents.items()}
    return {**CONTENTS, **added}


def content_text(content: Content) -> str:
    """The JSON document: first its schema, as in aiayn/cost/1, then the fields."""
    return json_text({"schema": f"aiayn/{content.schema}", **plain(content)})


def plain(value: Any) -> Any:
    """Dataclasses as dictionaries, tuples as lists, paths as text, at any depth."""
    if dataclasses.is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {key: plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [plain(entry) for entry in value]
    return str(value) if isinstance(value, PurePath) else value
