"""Every printed cell of the four tables has one id, and a reader finds it."""

from collections import Counter
from importlib import resources

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from aiayn.errors import UserError
from aiayn.paper.catalogue import TABLES, cell, cells
from aiayn.paper.cells import Cell
from aiayn.paper.table3 import load_table3

FILES = {
    f"table{number}": yaml.safe_load(resources.files("aiayn.paper").joinpath(f"table{number}.yaml").read_text("utf-8"))
    for number in TABLES
}

PLACES = [
    (f"table{number}", row.id, column.id, found)
    for number, load in TABLES.items()
    for row in load().rows
    for column, found in zip(load().columns, load().cells(row), strict=True)
]


def test_the_paper_prints_so_many_cells_in_each_table() -> None:
    assert Counter(name.partition(".")[0] for name in cells()) == {
        "table1": 12,
        "table2": 31,
        "table3": 51,
        "table4": 12,
    }
    assert Counter(name.rpartition(".")[2] for name in cells() if name.startswith("table2.")) == {
        "en_de": 8,
        "en_fr": 9,
        "flops_en_de": 7,
        "flops_en_fr": 7,
    }


def test_ids_say_where_a_cell_stands() -> None:
    for table, row, column, found in PLACES:
        assert found.id == f"{table}.{row}.{column}"
        assert (found.id in cells()) == found.printed
    assert list(cells()) == [found.id for *_, found in PLACES if found.printed]


@pytest.mark.parametrize("name", cells())
def test_a_cell_is_found_by_its_id_and_prints_as_it_stands_in_the_file(name: str) -> None:
    table, row, column = name.split(".")
    content = FILES[table]
    entry = next(entry for entry in content["rows"] if entry["id"] == row)[column]
    found = cell(name)
    assert str(found) == (entry if isinstance(entry, str) else entry["printed"])
    assert found.unit == content["columns"][column]["unit"]
    assert found.source == content["caption"]["source"]
    assert (found.value is None) != (found.order is None)


def test_a_number_printed_again_is_the_same_number() -> None:
    numbers = [found for found in cells().values() if found.value is not None]
    assert [float(str(found)) for found in numbers] == [found.value for found in numbers]
    assert {found.id.partition(".")[0] for found in numbers} == {"table2", "table3", "table4"}


@given(value=st.floats(1e-3, 1e25), decimals=st.integers(0, 3))
def test_scientific_cells_keep_their_precision(value: float, decimals: int) -> None:
    text = str(Cell(value, decimals, "FLOPs", scientific=True))
    mantissa = text.partition("e")[0]
    assert 1 <= float(mantissa) <= 10
    assert len(mantissa.partition(".")[2]) == decimals
    assert float(text) == pytest.approx(value, rel=0.5 * 10**-decimals)


@given(name=st.text().filter(lambda text: text not in cells()))
def test_an_unknown_id_is_a_one_line_error_naming_a_known_one(name: str) -> None:
    with pytest.raises(UserError) as caught:
        cell(name)
    message = str(caught.value)
    assert repr(name) in message
    assert message.rpartition(" ")[2] in cells()
    assert len(message.splitlines()) == 1


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("table2.transformer_big.en-fr", "table2.transformer_big.en_fr"),
        ("table1.recurent.complexity", "table1.recurrent.complexity"),
        ("table3.a_h1.blue", "table3.a_h1.bleu"),
    ],
)
def test_a_misspelt_id_names_the_one_meant(typed: str, meant: str) -> None:
    with pytest.raises(UserError, match=f"{meant}$"):
        cell(typed)


def test_a_blank_cell_is_said_to_be_blank() -> None:
    assert not load_table3().row("a_h1").parameters.printed
    with pytest.raises(UserError, match="leaves this cell blank"):
        cell("table3.a_h1.parameters")


def test_where_versions_differ_both_are_kept() -> None:
    differing = [found for found in cells().values() if found.elsewhere]
    assert [found.id for found in differing] == ["table2.transformer_big.en_fr"]
    (found,) = differing
    assert "NIPS 2017" in {other.source for other in found.elsewhere}
    for other in found.elsewhere:
        assert other.id == found.id
        assert other.source != found.source
        assert other.value is not None
        assert other.value != found.value


def test_the_catalogue_cannot_be_changed_by_its_readers() -> None:
    before = dict(cells())
    with pytest.raises(TypeError):
        cells()["table1.recurrent.complexity"] = before["table3.base.ppl"]  # type: ignore[index]
    assert cells() == before
