import json
from pathlib import Path

import pytest

from aiayn.commands.front_end import main
from aiayn.extensions.layers.table1 import QUANTITIES, measure_growth
from aiayn.paper.tables import Layer, load_table1


@pytest.mark.slow
@pytest.mark.parametrize("row", load_table1().rows, ids=lambda row: str(row.id))
def test_every_exponent_is_the_papers(row: Layer) -> None:
    for column in QUANTITIES:
        growth = measure_growth(row, column)
        assert growth.largest_error < 0.15, f"{row.id} {column}: {growth}"


@pytest.mark.long
def test_the_report_holds_paper_and_measurement_side_by_side(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("aiayn.extensions.layers.table1.TIMED_LENGTHS", (8, 16))
    assert main(["report", "table1", f"output={tmp_path / 'table1.json'}"]) == 0
    content = json.loads((tmp_path / "table1.json").read_text())
    assert content["growth"].keys() == {row.id for row in load_table1().rows}
    for cells in content["growth"].values():
        for cell in cells.values():
            for exponent in cell["exponents"].values():
                assert exponent["low"] <= exponent["estimate"] <= exponent["high"]
    assert all(entry["seconds"] > 0 for entry in content["seconds"])
    assert main(["report", "table1", "output=table1.tex"]) == 2
    assert "choose from .md, .json" in capsys.readouterr().err
