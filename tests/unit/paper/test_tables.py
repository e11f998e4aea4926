"""Tables 1, 2 and 4 agree with themselves and with what the text says of them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiayn.paper.catalogue import TABLES, cell
from aiayn.paper.table1 import load_table1
from aiayn.paper.table2 import load_table2
from aiayn.paper.table4 import load_table4

SIZES = st.fixed_dictionaries({"n": st.integers(2, 5000), "d": st.integers(2, 5000), "k": st.integers(2, 9)})


def number(cell_id: str) -> float:
    value = cell(cell_id).value
    assert value is not None
    return value


@pytest.mark.parametrize("number", TABLES)
def test_a_table_is_read_once_and_no_row_has_two_lines(number: int) -> None:
    table = TABLES[number]()
    assert table is TABLES[number]()
    ids = [row.id for row in table.rows]
    assert len(set(ids)) == len(ids)
    assert table.caption.source.startswith("arXiv:1706.03762v")


def test_every_size_of_table_1_is_explained() -> None:
    table = load_table1()
    orders = [found.order for row in table.rows for found in table.cells(row) if found.order is not None]
    assert len(orders) == 12
    assert frozenset().union(*(order.sizes for order in orders)) == table.sizes.keys()


@given(sizes=SIZES)
def test_self_attention_is_cheaper_than_recurrence_where_sentences_are_shorter_than_wide(sizes: dict[str, int]) -> None:
    """Section 4, and its claim that convolutions cost k times as much as recurrence."""
    attention, recurrence, convolution = (
        order.evaluate(sizes) for order in (row.complexity.order for row in load_table1().rows[:3]) if order is not None
    )
    assert (attention < recurrence) == (sizes["n"] < sizes["d"])
    assert convolution == pytest.approx(sizes["k"] * recurrence)


@given(sizes=SIZES)
def test_restriction_to_the_whole_sentence_is_no_restriction(sizes: dict[str, int]) -> None:
    rows = {row.id: row for row in load_table1().rows}
    whole, restricted = rows["self_attention"], rows["self_attention_restricted"]
    for one, other in zip(load_table1().cells(whole), load_table1().cells(restricted), strict=True):
        assert one.order is not None
        assert other.order is not None
        assert one.order.evaluate(sizes) == pytest.approx(other.order.evaluate({**sizes, "r": sizes["n"]}))


def test_big_is_ahead_of_every_system_by_two_bleu_in_english_german() -> None:
    """Section 6.1: more than 2.0 ahead of the best earlier one, ensembles included; base surpasses them too."""
    earlier = [row.en_de.value for row in load_table2().rows if row.group != "transformer" and row.en_de.value]
    assert number("table2.transformer_big.en_de") - max(earlier) > 2.0
    assert number("table2.transformer_base.en_de") > max(earlier)


def test_big_costs_less_than_a_quarter_of_the_best_single_english_french_system() -> None:
    """Section 6.1; and of single systems none has a higher BLEU, in either printing."""
    single = [row for row in load_table2().rows if row.group == "single" and row.en_fr.value]
    big = cell("table2.transformer_big.en_fr")
    best = max(row.en_fr.value or 0 for row in single)
    assert all(printing.value is not None and printing.value > best for printing in (big, *big.elsewhere))
    costs = [row.flops_en_fr.value for row in single if row.flops_en_fr.value]
    assert number("table2.transformer_big.flops_en_de") < min(costs) / 4


def test_ensembles_are_better_and_dearer_than_their_members() -> None:
    table = load_table2()
    rows = {row.id: row for row in table.rows}
    ensembles = [row for row in table.rows if row.group == "ensemble"]
    assert len(ensembles) == 3
    for ensemble in ensembles:
        assert ensemble.id.endswith("_ensemble")
        member = rows[ensemble.id.removesuffix("_ensemble")]
        for one, all_together in zip(table.cells(member), table.cells(ensemble), strict=True):
            assert one.printed == all_together.printed
            assert not one.printed or (one.value or 0) < (all_together.value or 0)


def test_the_transformer_parses_better_than_all_but_the_last_two() -> None:
    """Section 6.3 forgets the multi-task row. On WSJ alone the BerkeleyParser (Petrov) is outdone."""
    table = load_table4()
    best = number("table4.transformer_semi.f1")
    better = [row.id for row in table.rows if row.f1.value is not None and row.f1.value > best]
    assert better == ["luong_multi", "dyer_generative"]
    assert number("table4.transformer_wsj.f1") > number("table4.petrov_wsj.f1")


def test_every_kind_of_training_of_the_transformers_parsers_is_described() -> None:
    table = load_table4()
    assert table.training.keys() == {row.group for row in table.rows if row.label.startswith("Transformer")}
    assert len(table.rows) == 12
