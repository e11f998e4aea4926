"""JSON Schemas of documents for programs, generated from the dataclasses that write them."""

import inspect
import re
from typing import Any

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from aiayn.config.meanings import meanings
from aiayn.errors import UserError
from aiayn.registry import named
from aiayn.reports.content import Content, contents


def document_schema(name: str) -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of the document of a verb or report, such as "status" or "table3".

    Raises:
        UserError: no document has this name.
    """
    if name not in contents():
        raise UserError(f"name={name}: no JSON document has this name; there are {', '.join(sorted(contents()))}")
    kind: type[Content] = named(contents()[name])
    generated = TypeAdapter(kind).json_schema(mode="serialization", schema_generator=_Generator)
    title = f"aiayn/{kind.schema}"
    keys = {"schema": {"const": title, "description": "Name and version of this document."}, **generated["properties"]}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **generated,
        "title": title,
        "properties": keys,
        "required": list(keys),
    }


class _Generator(GenerateJsonSchema):
    """Explains objects and their keys by docstrings; requires every key that is always written, and refuses others."""

    def dataclass_schema(self, schema: core_schema.DataclassSchema) -> JsonSchemaValue:
        generated = super().dataclass_schema(schema)
        required = list(generated.get("properties", {}))
        return self._explained(schema["cls"], {**generated, "required": required})

    def typed_dict_schema(self, schema: core_schema.TypedDictSchema) -> JsonSchemaValue:
        return self._explained(schema["cls"], super().typed_dict_schema(schema))

    def _explained(self, kind: type, generated: JsonSchemaValue) -> JsonSchemaValue:
        explanations = meanings(kind)
        keys = {
            key: {name: value for name, value in entry.items() if name not in ("title", "default")}
            | ({"description": _of_json(explanations[key])} if key in explanations else {})
            for key, entry in generated.get("properties", {}).items()
        }
        description = _of_json((inspect.getdoc(kind) or "").replace("\n", " "))
        return {"additionalProperties": False, **generated, "description": description, "properties": keys}


def _of_json(explanation: str) -> str:
    return re.sub(r"\bNone\b", "null", explanation)
