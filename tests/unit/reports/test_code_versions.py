"""Runs of other code, precision or packages never share a table without a remark that names them."""

from collections.abc import Callable
from pathlib import Path

import pytest
from example_record import example_record
from hypothesis import given
from hypothesis import strategies as st

from aiayn.commands.front_end import main
from aiayn.reports.code_versions import MOST_RUNS, code_versions, version_remarks
from aiayn.runs.cost import Attempt, Devices, RunCost
from aiayn.runs.provenance import Origin
from aiayn.runs.record import Record

MakeRun = Callable[..., Path]

HARDWARE = {"processor": "abacus", "cores": 2, "memory_gib": 3.5, "gpus": [], "threads": 2}
COST = RunCost.of([Attempt(started=None, devices=(Devices("CPU", 1, 1e9),), training_seconds=3600.0)])

origins = st.builds(
    Origin,
    commit=st.sampled_from([None, "a" * 40, "b" * 40]),
    dirty=st.just(True),
    patch=st.sampled_from(["c" * 12, "d" * 12]),
    packages=st.sampled_from(["e" * 12, "f" * 12]),
    precision=st.sampled_from(["32-true", "bf16-mixed"]),
    tf32=st.booleans(),
)


@st.composite
def records(draw: st.DrawFn) -> Record:
    origin, earlier = draw(origins), draw(st.lists(origins, max_size=2))
    versions = draw(st.sampled_from([{"torch": "2.13.0", "python": "3.11"}, {"torch": "2.12.0", "python": "3.11"}]))
    row = draw(st.sampled_from(["base", "big"]))
    return example_record(
        name=f"{row}-{draw(st.integers())}",
        experiment=row,
        earlier=earlier,
        versions=versions,
        **{name: value for name, value in vars(origin).items() if name != "version"},
    )


def remarks(found: list[Record]) -> dict[str, str]:
    """By subject."""
    runs = ((Path(str(number)), record) for number, record in enumerate(found))
    lines = [line.partition(": ") for line in version_remarks(code_versions(runs))]
    assert len({subject for subject, _, _ in lines}) == len(lines)
    return {subject: text for subject, _, text in lines}


def facts(record: Record) -> dict[str, list[object]]:
    """Of the attempts, by subject; packages that cannot change a result do not count."""
    attempts = [*record.earlier, record.origin]
    return {
        "code": [each.code.text for each in attempts],
        "precision": [each.precision_text for each in attempts],
        "packages": [record.versions["torch"]],
    }


@given(st.lists(records(), min_size=1, max_size=6))
def test_a_fact_in_which_attempts_differ_is_never_silent(found: list[Record]) -> None:
    said = remarks(found)
    for subject in ("code", "precision", "packages"):
        differs = len({fact for record in found for fact in facts(record)[subject]}) > 1
        assert differs <= (subject in said)
        if subject in said and differs:
            for fact in (fact for record in found for fact in facts(record)[subject]):
                assert str(fact).removeprefix("commit ") in said[subject]


@given(st.lists(records(), min_size=2, max_size=6), st.sampled_from(["code", "precision", "packages"]))
def test_rows_whose_seeds_differ_are_named(found: list[Record], subject: str) -> None:
    by_row = {
        record.experiment: [facts(each)[subject][-1] for each in found if each.experiment == record.experiment]
        for record in found
    }
    named = remarks(found).get(subject, "").partition("seeds of one row are of several: ")[2].split(", ")
    assert {row for row, last in by_row.items() if len(set(last)) > 1} <= set(named)


@given(st.lists(records(), max_size=8))
def test_every_run_is_of_one_version(found: list[Record]) -> None:
    runs = [(Path(str(number)), record) for number, record in enumerate(found)]
    made = [run for version in code_versions(runs) for run in version.runs]
    assert sorted(made) == sorted(path for path, _ in runs)


def test_few_runs_are_named_and_many_are_counted() -> None:
    def run(name: str, precision: str) -> Record:
        return example_record(name=name, experiment=name, precision=precision)

    many = [run(f"row-{number}", "32-true") for number in range(MOST_RUNS + 1)]
    said = remarks([*many, run("odd", "bf16-mixed")])["precision"]
    assert said == f"the runs are of 2 precisions, whose results may differ: 32-true: {len(many)} runs; bf16-mixed: odd"


@pytest.mark.parametrize(
    ("report", "row", "split"),
    [
        ("table3", "base", "dev"),
        ("comparison", "base", "dev"),
        ("cost", "base", "dev"),
        ("table2", "table2/base_en_de", "test"),
        ("page", "base", "dev"),
    ],
)
def test_reports_say_that_the_seeds_of_a_row_are_of_several_origins(
    make_run: MakeRun, tmp_path: Path, report: str, row: str, split: str
) -> None:
    shared = {"cost": COST, "hardware": HARDWARE, "commit": "a" * 40, "dirty": True, "split": split}
    for seed, patch, precision in ((1, "c" * 12, "32-true"), (2, "d" * 12, "bf16-mixed")):
        make_run(row, seed=seed, patch=patch, precision=precision, **shared)
    output = tmp_path / ("page.html" if report == "page" else "page.md")
    assert main(["report", report, f"paths.runs={tmp_path / 'runs'}", f"output={output}"]) == 0
    page = output.read_text(encoding="utf-8")
    experiment = row if "/" in row else f"table3/{row}"
    for subject, both in {
        "code": (f"with uncommitted changes {'c' * 12}", f"with uncommitted changes {'d' * 12}"),
        "precision": ("32-true", "bf16-mixed"),
    }.items():
        (remark,) = (
            line for line in page.replace("<li>", "\n").splitlines() if f"{subject}: the runs are of 2" in line
        )
        assert all(fact in remark for fact in both)
        assert f"seeds of one row are of several: {experiment}" in remark.replace("\\_", "_")
