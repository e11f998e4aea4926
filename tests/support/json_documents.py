"""JSON documents of commands, and the schemas that they must satisfy."""

import json
from typing import Any

from jsonschema import Draft202012Validator

from aiayn.reports.content import contents
from aiayn.reports.schema_generation import document_schema

SCHEMAS: dict[str, dict[str, Any]] = {name: document_schema(name) for name in contents()}


def read_document(text: str) -> dict[str, Any]:
    """The one document of a text; AssertionError if it is not as its schema says."""
    document: dict[str, Any] = json.loads(text, parse_constant=refuse)
    assert next(iter(document)) == "schema"
    found = problems(document)
    assert not found, found
    return document


def problems(document: dict[str, Any]) -> list[str]:
    """In what a document differs from its schema."""
    _, name, _ = document["schema"].split("/")
    validator = Draft202012Validator(SCHEMAS[name])
    return [f"{'/'.join(map(str, each.absolute_path))}: {each.message}" for each in validator.iter_errors(document)]


def refuse(constant: str) -> None:
    """JSON has no such number."""
    raise AssertionError(constant)
