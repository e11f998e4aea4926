"""The report of the paper shows every cell, once as a table and once as Markdown."""

from pathlib import Path

import pytest

from aiayn.errors import UserError
from aiayn.paper.tables import TABLES
from aiayn.reports.paper import report_paper


@pytest.mark.parametrize("number", TABLES)
def test_both_forms_show_every_cell_of_the_table(
    number: int, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "table.md"
    report_paper(number, path)
    assert capsys.readouterr().out == f"{path}\n"
    lines = [line.split("|")[1:-1] for line in path.read_text().splitlines() if line.startswith("|")]
    heading, _, *written = [[cell.strip() for cell in line] for line in lines]
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    report_paper(number, None)
    printed = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert {" ".join(" ".join(line).split()) for line in written} <= {*printed}
    table = TABLES[number]()
    assert heading[-len(table.columns) :] == [column.heading for column in table.columns]
    for line, row in zip(written, table.rows, strict=True):
        assert line[0] == row.id
        assert line[-len(table.columns) :] == [str(found) for found in table.cells(row)]


def test_without_a_number_all_tables_and_remarks_are_written(tmp_path: Path) -> None:
    report_paper(None, tmp_path / "paper.md")
    page = (tmp_path / "paper.md").read_text()
    assert [line.partition(".")[0] for line in page.splitlines() if line.startswith("## Table ")] == [
        f"## Table {number}" for number in TABLES
    ]
    for found in (cell for load in TABLES.values() for row in load().rows for cell in load().cells(row)):
        assert found.note is None or f"- {found.id}: {found.note}" in page
        assert all(f"- {found.id}: {other} in {other.source}." in page for other in found.elsewhere)


@pytest.mark.parametrize("number", [0, 5, -1])
def test_a_table_that_the_paper_has_not_is_refused(number: int) -> None:
    with pytest.raises(UserError, match=f"table={number}: the paper has tables 1, 2, 3, 4"):
        report_paper(number, None)
