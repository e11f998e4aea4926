"""The parameters of each row, and how many of the paper's integers they reproduce."""

from pathlib import Path

import pytest

from aiayn.paper.tables import load_table3
from aiayn.reports.formats import Document, markdown
from aiayn.reports.parameters import PAPER_ROWS, count, document, report_parameters


@pytest.fixture(scope="module")
def report() -> Document:
    return document()


def test_ten_of_the_eleven_printed_integers_are_reproduced(report: Document) -> None:
    ((lines,),) = (grid.groups for grid in report.grids)
    assert [line[0] for line in lines] == [row.id for row in load_table3().rows]
    by_code = {line[0]: line[-1] for line in lines}
    assert sum(cell.endswith("=") for cell in by_code.values()) == 10
    assert [row for row, cell in by_code.items() if cell.endswith("≠")] == ["big"]
    assert not any(line[-2].endswith("=") for line in lines)
    assert {line[2] for line in lines if not load_table3().row(line[0]).parameters.printed} == {"(65)"}
    assert "reproduce 0; 40,960" in report.remarks[0]
    assert "reproduce 10." in report.remarks[0]


def test_a_row_is_counted_as_the_model_that_its_settings_build() -> None:
    counts = {
        name: count(load_table3().row(name), vocabulary_size=PAPER_ROWS, projection_bias=False)
        for name in ("base", "e_learned")
    }
    assert counts["base"] == 37_000 * 512 + 6 * (12 * 512 * 512 + 4 * 512 * 2048 + 2 * (2048 + 512) + 5 * 2 * 512)
    assert counts["e_learned"] == counts["base"] + 1024 * 512


def test_the_page_is_the_document(report: Document, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "parameters.md"
    report_parameters(path)
    assert capsys.readouterr().out == f"{path}\n"
    assert path.read_text() == markdown(report)
