"""What is measured is judged, kept and shown."""

import dataclasses
import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import performance_page
import run
from contest import Spread
from results import Mark, Row, merge, read, row_of, row_of_figures, tables

positive = st.floats(0.01, 1e6)


@given(bound=positive, number=positive)
def test_a_mark_is_met_on_its_side_of_the_bound_and_on_the_bound(bound: float, number: float) -> None:
    least, most = Mark(bound), Mark(bound, sense="at most")
    assert least.is_met(bound)
    assert most.is_met(bound)
    assert least.is_met(number) == (number >= bound)
    assert most.is_met(number) == (number <= bound)


def test_a_row_is_judged_by_what_its_mark_is_of() -> None:
    ratio = Spread(2.0, 1.9, 2.1)
    assert Row("t", "a", 1.0, "s", ratio, mark=Mark(1.5)).met is True
    assert Row("t", "a", 1.0, "s", ratio, mark=Mark(1.5, "value")).met is False
    assert Row("t", "a", 1.0, "s", ratio).met is None
    assert Row("t", "a", mark=Mark(1.5), note="does not install").met is None


@given(
    value=st.none() | positive, ratio=st.none() | st.tuples(positive, positive, positive), bound=st.none() | positive
)
def test_a_row_survives_the_file(
    value: float | None, ratio: tuple[float, float, float] | None, bound: float | None
) -> None:
    row = Row("t", "a", value, "s", ratio and Spread(*ratio), 1.5, 3, None if bound is None else Mark(bound, "value"))
    assert row_of(json.loads(json.dumps(dataclasses.asdict(row)))) == row


def test_a_subject_that_is_measured_anew_leaves_the_others_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "performance.json"
    for name, value in (("training", 1.0), ("decoding", 2.0), ("training", 3.0)):
        merge(path, name, [Row("t", "a", value)], command="", seconds=1.0, peers={"fairseq": "0.12"})
    content = read(path)
    assert {name: each["rows"][0]["value"] for name, (each,) in content.items()} == {
        "training": 3.0,
        "decoding": 2.0,
    }


def test_each_make_of_processor_has_its_rows(tmp_path: Path) -> None:
    path = tmp_path / "performance.json"
    earlier = Row("Step", "aiayn", 1.0, ratio=Spread(0.5, 0.4, 0.6), mark=Mark(0.7))
    merge(path, "training", [earlier], command="", seconds=1.0, peers={})
    content = json.loads(path.read_text())
    content["training"][0]["machine"]["processor"] = "another"
    path.write_text(json.dumps(content))
    for value in (2.0, 3.0):
        merge(path, "training", [Row("Step", "aiayn", value)], command="", seconds=1.0, peers={})
    assert [each["rows"][0]["value"] for each in read(path)["training"]] == [3.0, 1.0]
    page = performance_page.markdown(read(path), run.SUBJECTS)
    assert re.findall(r"^\| Step \| aiayn \| (.*) \|  \|$", page, re.MULTILINE) == ["3"], "tables are of the newest"
    assert "| training | Step: aiayn | another | 0.50x | at least 0.7x | **no** |" in page
    provenance = page.partition("## Provenance")[2]
    assert provenance.count("| training |") == 2
    assert "| another, " in provenance


def test_the_page_leaves_further_series_and_subjects_without_numbers_to_the_file(tmp_path: Path) -> None:
    path = tmp_path / "performance.json"
    rows = [
        Row("Beam 4, 1 sentence", "aiayn", 1.0),
        Row("Beam 8, 64 sentences", "aiayn", 2.0),
        Row("Share of the ceiling, base", "aiayn", ratio=Spread(0.5, 0.4, 0.6), mark=Mark(0.7)),
    ]
    merge(path, "decoding", rows, command="", seconds=1.0, peers={})
    merge(path, "one_gpu", [Row("One GPU", "aiayn", note="no device")], command="", seconds=1.0, peers={})
    page = performance_page.markdown(read(path), run.SUBJECTS)
    targets, _, tables_and_provenance = page.partition("## Decoding")
    assert "Share of the ceiling, base: aiayn" in targets
    assert "| Beam 4, 1 sentence |" in tables_and_provenance
    assert "Beam 8, 64" not in page
    assert "Share of the ceiling" not in tables_and_provenance
    assert "## One GPU" not in page
    assert "| one_gpu |" in tables_and_provenance


def test_the_page_shows_targets_misses_notes_and_the_machine(tmp_path: Path) -> None:
    path = tmp_path / "performance.json"
    rows = [
        Row("Step", "aiayn", 450.0, "tokens/s", Spread(1.4, 1.3, 1.5), 1.45, 5, Mark(1.5)),
        Row("Step", "fairseq", note="does not install"),
    ]
    merge(path, "training", rows, command="make bench BENCH=training", seconds=61.0, peers={"fairseq": "0.12"})
    page = performance_page.markdown(read(path), run.SUBJECTS)
    processor = read(path)["training"][0]["machine"]["processor"]
    assert f"| training | Step: aiayn | {processor} | 1.40x | at least 1.5x | **no** |" in page
    assert "fairseq (does not install)" in page
    assert "fairseq 0.12" in page
    assert "| 1.30 to 1.50 | 1.45 | 5 |" in tables(rows)


def test_figures_of_a_module_that_knows_no_rows_become_one_with_a_note() -> None:
    row = row_of_figures("t", {"what": "prepare", "seconds": 2.5, "pairs/s": 14_500, "ratio": 0.95}, Mark(0.9))
    assert (row.contender, row.value, row.note, row.met) == ("prepare", 2.5, "14,500 pairs/s", True)
    command = row_of_figures("t", {"what": "aiayn plan", "seconds": 0.7, "of the imports": 0.2}, None)
    assert (command.value, command.ratio, command.note) == (0.7, Spread(0.2, 0.2, 0.2), "")


def test_an_unknown_subject_is_refused_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        run.main(["trainings"])
    assert ended.value.code == 2
    assert "trainings: no such subject" in capsys.readouterr().err
