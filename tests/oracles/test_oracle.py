"""A difference beyond its tolerance fails, and the table has the largest one of each quantity."""

import json
from pathlib import Path

import numpy as np
import pytest
from oracle import Oracle, Rows
from oracle_table import page

RESULTS = Path(__file__).parents[2] / "docs/results"


def test_the_largest_difference_is_kept() -> None:
    rows: Rows = {}
    oracle = Oracle("library 1.0", rows)
    for difference in (1e-7, 3e-7, 2e-7):
        oracle.agrees("logits", np.ones(3), [1.0, 1.0 + difference, 1.0], tolerance=1e-6)
    assert rows == {"library 1.0": {"logits": pytest.approx(3e-7)}}
    assert "| library 1.0 | logits | 3.0e-07 |" in page(rows)


@pytest.mark.parametrize(
    ("own", "reference", "words"),
    [
        ([1.0, 2.0], [1.0, 2.1], "largest difference is 1.00e-01"),
        ([1.0, float("nan")], [1.0, 2.0], "largest difference is nan"),
        ([1.0, 2.0], [1.0], "instead of"),
        ([], [], "nothing to compare"),
    ],
)
def test_a_disagreement_fails(own: list[float], reference: list[float], words: str) -> None:
    with pytest.raises(AssertionError, match=words):
        Oracle("library 1.0", {}).agrees("logits", own, reference, tolerance=1e-6)


def test_the_page_in_the_documents_is_that_of_its_data() -> None:
    rows = json.loads((RESULTS / "oracles.json").read_text())
    assert (RESULTS / "oracles.md").read_text() == page(rows)
