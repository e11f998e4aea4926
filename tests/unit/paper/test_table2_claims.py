"""The claims about Table 2 are borne out by the very numbers that they are drawn from."""

import pytest

from aiayn.paper.table2_claims import Above, Beats, Cheaper, load_table2_claims, published
from aiayn.paper.tables import load_table2

COMPARISONS = [comparison for claim in load_table2_claims() for comparison in claim.comparisons]


def bleu(row: str, pair: str) -> float:
    return load_table2().row(row).cell(pair).number


def test_every_claim_has_a_name_and_comparisons_of_its_own() -> None:
    claims = load_table2_claims()
    assert len({claim.id for claim in claims}) == len(claims) > 0
    assert len(set(COMPARISONS)) == len(COMPARISONS)
    assert all(claim.comparisons for claim in claims)


@pytest.mark.parametrize("comparison", COMPARISONS, ids=str)
def test_the_papers_own_numbers_satisfy_it(comparison: Above | Beats | Cheaper) -> None:
    match comparison:
        case Above():
            assert bleu(comparison.above, comparison.pair) > bleu(comparison.below, comparison.pair)
        case Beats():
            assert bleu(comparison.row, comparison.pair) > comparison.mark
        case Cheaper():
            assert load_table2().row(comparison.row).flops_en_de.number < comparison.mark


@pytest.mark.parametrize("comparison", [each for each in COMPARISONS if isinstance(each, Beats)], ids=str)
def test_what_it_beats_is_the_best_of_what_was_published(comparison: Beats) -> None:
    others = published(comparison.beats, comparison.pair)
    assert max(each.cell(comparison.pair).number for each in others) == comparison.mark - float(comparison.by)
    assert all(each.group != "transformer" for each in others)


def test_two_points_are_all_that_the_printed_numbers_give() -> None:
    (by_two,) = (each for each in COMPARISONS if isinstance(each, Beats) and float(each.by))
    assert bleu(by_two.row, by_two.pair) - by_two.mark < 0.1
