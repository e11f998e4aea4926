"""`aiayn check`: the properties of a model as a table."""

from dataclasses import dataclass
from typing import ClassVar

from aiayn.builders.model_contract import check_model
from aiayn.config.schema import TrainConfig
from aiayn.errors import RunFailedError
from aiayn.reports.content import Content
from aiayn.reports.formats import Document, show
from aiayn.reports.grid import Grid


@dataclass(frozen=True)
class CheckedProperty:
    """One property of a model."""

    check: str
    """Name of the check."""
    passed: bool
    """Whether the model has the property."""
    found: str
    """What was measured, or the error of the model."""


@dataclass(frozen=True)
class CheckContent(Content):
    """The contract of a kind of model: aiayn check."""

    schema: ClassVar = "check/1"

    model: str
    """The kind of model."""
    passed: bool
    """Whether every check passed."""
    checks: tuple[CheckedProperty, ...]
    """The checks."""


def print_checks(config: TrainConfig) -> None:
    """Check the configuration's model; RunFailedError if it lacks a property."""
    found = check_model(config)
    lines = tuple((each.name, "ok" if each.passed else "FAILED", each.detail) for each in found)
    grid = Grid("", ("<check", "<result", "<found"), (lines,))
    checks = tuple(CheckedProperty(each.name, each.passed, each.detail) for each in found)
    content = CheckContent(config.model.kind, all(each.passed for each in found), checks)
    title = f"Contract of model.kind={config.model.kind}"
    written = "Written by `aiayn check`."
    show(Document(title, written, grids=(grid,), content=content), None)
    failed = [each.name for each in found if not each.passed]
    if failed:
        raise RunFailedError(f"{len(failed)} of {len(found)} checks failed: {', '.join(failed)}")
