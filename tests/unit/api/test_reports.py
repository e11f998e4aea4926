"""A program gets a report as a value; nothing is written."""

from pathlib import Path

import pytest

import aiayn
from aiayn.commands.front_end import main
from aiayn.paper.tables import TABLES


@pytest.mark.parametrize("key", ["output", "publish"])
def test_a_report_that_is_returned_takes_no_place_to_write_to(key: str, tmp_path: Path) -> None:
    place = tmp_path / "page.md"
    with pytest.raises(aiayn.UserError, match=f"^{key}={place}: the report is returned; .* aiayn report comparison$"):
        aiayn.report("comparison", runs=tmp_path, **{key: str(place)})  # type: ignore[arg-type]
    assert not place.exists()


@pytest.mark.parametrize("number", [None, *TABLES])
def test_the_papers_tables_are_those_of_the_command(number: int | None, tmp_path: Path) -> None:
    path = tmp_path / "paper.md"
    assert main(["report", "paper", f"table={number or 'null'}", f"output={path}"]) == 0
    report = aiayn.report("paper", table=number)
    assert report.markdown == path.read_text()
    numbers = [table["number"] for table in report.content["tables"]]
    assert numbers == ([*TABLES] if number is None else [number])
