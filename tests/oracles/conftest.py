"""The file of the largest differences from reference implementations."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from oracle import Oracle, Rows

VARIABLE = "AIAYN_ORACLES"
"""Names the JSON file, {library: {quantity: largest difference}}, in which the comparisons of a session in one process
are kept."""


@pytest.fixture(scope="session")
def oracle_rows() -> Iterator[Rows]:
    """The rows of this session; at its end they replace those of the same quantities in the file."""
    rows: Rows = {}
    yield rows
    if name := os.environ.get(VARIABLE):
        path = Path(name)
        kept: Rows = json.loads(path.read_text()) if path.exists() else {}
        for library, found in rows.items():
            kept[library] = {**kept.get(library, {}), **found}
        path.write_text(json.dumps(kept, indent=1) + "\n")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Holds the files that a reference program writes, and the run that is made of them."""
    return tmp_path_factory.mktemp("reference")


@pytest.fixture(scope="module")
def oracle(request: pytest.FixtureRequest, oracle_rows: Rows) -> Oracle:
    """The reference that the test file names as its `LIBRARY`."""
    return Oracle(request.module.LIBRARY, oracle_rows)
