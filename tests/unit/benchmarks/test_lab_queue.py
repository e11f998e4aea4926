"""The order of the lab's runs."""

from lab_queue import by_seed


def test_of_a_study_comes_the_first_seed_of_all_rows_and_then_the_second() -> None:
    rows = {"base": {7: "b", 30: "c", 5: "a"}, "rotary": {12: "e", 6: "d"}, "learned": {8: "f"}}
    first = [("base", 5, "a"), ("rotary", 6, "d"), ("learned", 8, "f")]
    assert [*by_seed(rows)] == [*first, ("base", 7, "b"), ("rotary", 12, "e"), ("base", 30, "c")]
