"""The notebooks of docs/ run from beginning to end, and their stored outputs are those of the code."""

import re
from pathlib import Path

import pytest
from notebooks import NOTEBOOKS, executed, shown, stored

ABSOLUTE_PATH = re.compile(r"(?<![\w.])/(?:dev|home|opt|private|root|tmp|usr|Users|var|work)/")


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:Kernel is running over TCP without encryption")
@pytest.mark.parametrize("path", [path for path in NOTEBOOKS if path.stem != "attention"], ids=lambda path: path.stem)
def test_a_notebook_shows_what_its_code_prints(path: Path, tmp_path: Path) -> None:
    """In an empty folder; numbers, such as times and scores, are not compared.

    That of attention is tried with the installed wheel: tests/integration/test_wheel.py.
    """
    assert shown(stored(path)) == shown(executed(path, tmp_path))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_stored_notebook_was_executed_once_in_order(path: Path) -> None:
    cells = [cell for cell in stored(path).cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    assert not ABSOLUTE_PATH.search(path.read_text(encoding="utf-8"))
