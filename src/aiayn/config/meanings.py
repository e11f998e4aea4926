"""Explanations of settings: the docstrings of the schema's fields, and the comments that files in conf/ open with."""

import ast
import dataclasses
import inspect
from itertools import pairwise, takewhile
from pathlib import Path

from typing_extensions import is_typeddict


def meanings(kind: type) -> dict[str, str]:
    """The docstrings of the fields of a dataclass and its bases, or of the keys of a TypedDict, from the source."""
    found: dict[str, str] = meanings(kind.overridden) if hasattr(kind, "overridden") else {}
    for each in reversed(kind.__mro__):
        if not (dataclasses.is_dataclass(each) or is_typeddict(each)):
            continue
        (definition,) = ast.parse(inspect.getsource(each)).body
        assert isinstance(definition, ast.ClassDef)
        for field, text in pairwise(definition.body):
            match field, text:
                case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(meaning))):
                    found[name] = inspect.cleandoc(meaning).replace("\n", " ")
    return found


def heading_comment(path: Path) -> str:
    """The comment that a file opens with, in one line."""
    comment = takewhile(lambda line: line.startswith("#"), path.read_text(encoding="utf-8").splitlines())
    return " ".join(line.lstrip("# ") for line in comment if not line.startswith("# @package"))
