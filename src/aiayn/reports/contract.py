"""`aiayn check`: the properties of a model as a table."""

from aiayn.builders.contract import check_model
from aiayn.config.schema import TrainConfig
from aiayn.errors import RunFailedError
from aiayn.reports.formats import Document, show
from aiayn.reports.grid import Grid


def print_contract(config: TrainConfig) -> None:
    """Check the configuration's model; RunFailedError if it lacks a property."""
    found = check_model(config)
    lines = tuple((each.name, "ok" if each.passed else "FAILED", each.detail) for each in found)
    grid = Grid("", ("<check", "<result", "<found"), (lines,))
    checks = [{"check": each.name, "passed": each.passed, "found": each.detail} for each in found]
    content = {"model": config.model.kind, "passed": all(each.passed for each in found), "checks": checks}
    title = f"Contract of model.kind={config.model.kind}"
    written = "Written by `aiayn check`."
    show(Document(title, written, grids=(grid,), schema="check/1", content=content), None)
    failed = [each.name for each in found if not each.passed]
    if failed:
        raise RunFailedError(f"{len(failed)} of {len(found)} checks failed: {', '.join(failed)}")
