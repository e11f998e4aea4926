"""Submitted records and the number of their findings."""

from aiayn.extensions.sharing.submissions_report import document


def test_each_record_has_its_number_of_findings() -> None:
    ((lines,),) = (grid.groups for grid in document({"a": [], "b": ["x"], "c": ["y", "z"]}).grids)
    assert lines == (("a", "ok"), ("b", "1 finding"), ("c", "2 findings"))
