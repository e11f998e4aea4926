"""The four tables are complete and agree with themselves, with their files and with the paper's text."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import FrozenInstanceError

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiayn.errors import UserError
from aiayn.paper.cells import Cell, Column, parse_cell, read_yaml
from aiayn.paper.tables import (
    TABLES,
    Row,
    load_table1,
    load_table2,
    load_table3,
    load_table4,
)

TABLE3 = load_table3()
IDS = [row.id for row in TABLE3.rows]
CELLS = {cell.id: cell for load in TABLES.values() for row in load().rows for cell in load().cells(row)}
PRINTED = {name: cell for name, cell in CELLS.items() if cell.printed}


@pytest.mark.parametrize("number", TABLES)
def test_a_table_is_read_once_and_cannot_be_changed(number: int) -> None:
    table = TABLES[number]()
    assert table is TABLES[number]()
    assert len({row.id for row in table.rows}) == len(table.rows)
    assert table.caption.source.startswith("arXiv:1706.03762v")
    with pytest.raises(FrozenInstanceError):
        table.rows[0].label = "other"  # type: ignore[misc]
    for mapping in (value for value in (*vars(table).values(), *vars(table.rows[-1]).values())):
        assert not isinstance(mapping, dict | list)


def test_each_table_has_the_papers_number_of_cells() -> None:
    counts = Counter(name.partition(".")[0] for name in PRINTED)
    assert counts == {"table1": 12, "table2": 31, "table3": 51, "table4": 12}
    columns = Counter(name.rpartition(".")[2] for name in PRINTED if name.startswith("table2."))
    assert columns == {"en_de": 8, "en_fr": 9, "flops_en_de": 7, "flops_en_fr": 7}


@pytest.mark.parametrize("name", PRINTED)
def test_a_cell_prints_as_it_stands_in_the_file(name: str) -> None:
    table, row, column = name.split(".")
    content, found = read_yaml(f"{table}.yaml"), PRINTED[name]
    entry = next(entry for entry in content["rows"] if entry["id"] == row)[column]
    assert str(found) == (entry["printed"] if isinstance(entry, Mapping) else entry)
    assert (found.unit, found.source) == (content["columns"][column]["unit"], content["caption"]["source"])
    assert (found.value is None) != (found.order is None)


@given(value=st.floats(1e-3, 1e25), decimals=st.integers(0, 3))
def test_scientific_cells_keep_their_precision(value: float, decimals: int) -> None:
    text = str(Cell(value, decimals, "FLOPs", scientific=True))
    mantissa = text.partition("e")[0]
    assert 1 <= float(mantissa) <= 10
    assert len(mantissa.partition(".")[2]) == decimals
    assert float(text) == pytest.approx(value, rel=0.5 * 10**-decimals)


def test_a_cell_of_another_precision_is_refused() -> None:
    column = Column("bleu", "BLEU", "BLEU", decimals=1)
    assert parse_cell("25.8", column, cell_id="", source="").number == 25.8
    with pytest.raises(AssertionError, match=r"25\.80"):
        parse_cell("25.80", column, cell_id="", source="")


def test_both_values_are_kept_where_versions_differ() -> None:
    (found,) = (cell for cell in CELLS.values() if cell.elsewhere)
    assert found.id == "table2.transformer_big.en_fr"
    assert "NIPS 2017" in {other.source for other in found.elsewhere}
    for other in found.elsewhere:
        assert other.id == found.id
        assert other.source != found.source
        assert other.number != found.number


@given(row_id=st.text().filter(lambda text: text not in IDS))
def test_an_unknown_row_is_a_one_line_error_naming_the_known_ones(row_id: str) -> None:
    with pytest.raises(UserError) as caught:
        TABLE3.row(row_id)
    message = str(caught.value)
    assert repr(row_id) in message
    assert all(known in message for known in IDS)
    assert len(message.splitlines()) == 1


def test_every_size_of_table_1_is_explained() -> None:
    orders = [cell.order for cell in CELLS.values() if cell.order is not None]
    logarithms = [order.logarithm for order in orders if order.logarithm]
    sizes = {size for order in orders for size in order.powers}
    assert sizes | {size for each in logarithms for size in (each.base, each.of)} == load_table1().sizes.keys()


def test_big_costs_less_than_a_quarter_of_the_best_single_english_french_system() -> None:
    """Section 6.1; and of single systems none has a higher BLEU, in either printing."""
    single = [row for row in load_table2().rows if row.group == "single" and row.en_fr.printed]
    big = CELLS["table2.transformer_big.en_fr"]
    best = max(row.en_fr.number for row in single)
    assert all(printing.number > best for printing in (big, *big.elsewhere))
    costs = [row.flops_en_fr.number for row in single if row.flops_en_fr.printed]
    assert CELLS["table2.transformer_big.flops_en_de"].number < min(costs) / 4


def test_ensembles_are_better_and_dearer_than_their_members() -> None:
    table = load_table2()
    ensembles = [row for row in table.rows if row.group == "ensemble"]
    assert len(ensembles) == 3
    for ensemble in ensembles:
        member = table.row(ensemble.id.removesuffix("_ensemble"))
        for one, all_together in zip(table.cells(member), table.cells(ensemble), strict=True):
            assert one.printed == all_together.printed
            assert not one.printed or one.number < all_together.number


def test_table_3_has_the_papers_twenty_rows_in_its_groups_and_order() -> None:
    assert len(set(IDS)) == len({row.label for row in TABLE3.rows}) == 20
    groups = Counter(row.group for row in TABLE3.rows)
    assert [*groups.items()] == [("base", 1), ("A", 4), ("B", 2), ("C", 7), ("D", 4), ("E", 1), ("big", 1)]
    assert all(row.id == row.group or row.id.startswith(f"{row.group.lower()}_") for row in TABLE3.rows)
    assert len({tuple(row.settings(TABLE3).values()) for row in TABLE3.rows}) == 20
    assert all(row.ppl.printed and row.bleu.printed for row in TABLE3.rows)


@pytest.mark.parametrize("row", TABLE3.rows, ids=IDS)
def test_a_row_of_table_3_changes_settings_of_base(row: Row) -> None:
    assert row.changes.keys() <= TABLE3.base.keys()
    assert all(TABLE3.base[key] != value for key, value in row.changes.items())
    assert all(type(TABLE3.base[key]) is type(value) for key, value in row.changes.items())
    settings = row.settings(TABLE3)
    if row.group != "B":
        for width in ("model.d_k", "model.d_v"):
            assert int(settings["model.num_heads"]) * int(settings[width]) == settings["model.d_model"]


def test_the_note_of_big_states_its_parameters_as_printed_and_as_counted() -> None:
    """Table 3's parameters are counted from the models in `aiayn report parameters`."""
    note = TABLE3.row("big").note
    assert note is not None
    assert {"213", "218"} <= {*note.replace(",", "").replace(";", "").split()}


def test_the_transformer_parses_better_than_all_but_the_last_two() -> None:
    """Section 6.3 forgets the multi-task row. On WSJ alone the BerkeleyParser (Petrov) is outdone."""
    table = load_table4()
    best = CELLS["table4.transformer_semi.f1"].number
    assert [row.id for row in table.rows if row.f1.number > best] == ["luong_multi", "dyer_generative"]
    assert CELLS["table4.transformer_wsj.f1"].number > CELLS["table4.petrov_wsj.f1"].number
    assert table.training.keys() == {row.group for row in table.rows if row.label.startswith("Transformer")}
