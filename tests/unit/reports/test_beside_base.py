"""Differences to base for single runs: those of the reports, with verdicts only when they are due."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from frozen_plans import freeze
from hypothesis import given
from hypothesis import strategies as st

from aiayn.commands.front_end import main
from aiayn.config.difference import PLANNED_SEEDS_VARIABLE
from aiayn.evaluation.significance import Effect
from aiayn.extensions.lab.hypotheses import of_study
from aiayn.extensions.lab.registered import read_registered
from aiayn.paper.claims import Metric
from aiayn.reports.beside_base import VERDICT, BesideBase, Summary, at_the_end, of_table
from aiayn.reports.comparability import comparable_runs
from aiayn.reports.tables.table3_results import report_of
from aiayn.runs.directory import RunDirectory
from aiayn.runs.ledger import read_results
from aiayn.runs.record import Status, read_record

MakeRun = Callable[..., Path]

EFFECTS = st.builds(
    Effect,
    st.floats(-10, 10),
    st.none() | st.floats(1e-6, 10),
    st.integers(1, 100).map(float),
)


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    return tmp_path / "runs"


def ending(path: Path, runs: Path) -> Summary:
    """The summary of a run whose record on disk still says that it is running."""
    directory = RunDirectory(path)
    record = read_record(directory.record)
    replace(record, status=Status.running, scores={}).write(directory.record)
    try:
        return at_the_end(directory, record, runs)
    finally:
        record.write(directory.record)


def tabled(runs: Path) -> dict[Path, Summary]:
    found = comparable_runs(read_results(runs), runs, scale=None, data=None, like=None)
    return of_table(report_of(found, runs), runs)


def test_a_row_has_the_numbers_of_the_report(
    make_run: MakeRun, runs: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for seed in (1, 2):
        make_run("base", seed=seed)
        make_run("a_h32", seed=seed, nll=2.1)
        last = make_run("d_drop0", seed=seed, nll=2.2, match=0.6)
    summary = ending(last, runs)
    monkeypatch.chdir(tmp_path)
    assert main(["report", "table3", "output=table3.json"]) == 0
    rows = {row["row"]: row for row in json.loads(Path("table3.json").read_text(encoding="utf-8"))["rows"]}
    for name in ("ppl", "bleu"):
        for end in ("", "_low", "_high"):
            assert summary[f"vs_base/{name}{end}"] == pytest.approx(rows["d_drop0"][f"{name}_difference{end}"])
    assert (summary["vs_base/seeds"], summary["vs_base/base_seeds"]) == (2, 2)
    assert tabled(runs)[last] == {**summary, VERDICT: "worse"}


def test_the_verdict_waits_for_all_planned_seeds(
    make_run: MakeRun, runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed in (1, 2, 3):
        make_run("base", seed=seed)
    paths = [make_run("d_drop0", seed=seed, nll=2.2) for seed in (1, 2)]
    assert VERDICT not in ending(paths[-1], runs), "without a plan nobody knows which seeds are to come"
    monkeypatch.setenv(PLANNED_SEEDS_VARIABLE, "1 2 3")
    assert VERDICT not in ending(paths[-1], runs)
    assert ending(make_run("d_drop0", seed=3, nll=2.2), runs)[VERDICT] == "worse"
    make_run("d_drop0", seed=4, nll=2.2, status=Status.interrupted)
    assert all(VERDICT not in summary for summary in tabled(runs).values()), "a run of the row has not finished"


def test_base_trials_and_rows_without_base_have_nothing(make_run: MakeRun, runs: Path) -> None:
    assert ending(make_run("d_drop0"), runs) == {}
    assert ending(make_run("base"), runs) == {}
    assert ending(make_run("a_h32", trial="trainer.fast_dev_run=true"), runs) == {}
    assert ending(make_run("a_h1", data_fingerprint="e" * 64), runs) == {}, "another corpus"


def test_a_variation_is_compared_with_the_most_similar_base(make_run: MakeRun, runs: Path) -> None:
    make_run("base", nll=3.0)
    make_run("base", "optimization.warmup_steps=9", nll=2.0, difference="warmup_steps=9")
    words = ("optimization.warmup_steps=9", "model.norm=pre")
    varied = make_run("base", *words, nll=2.2, difference="warmup_steps=9 norm=pre")
    assert float(ending(varied, runs)["vs_base/ppl"]) > 0, "worse than the base with its own warm-up"
    alone = make_run("base", "model.norm=pre", nll=2.2, difference="norm=pre")
    assert float(ending(alone, runs)["vs_base/ppl"]) < 0, "better than base as it is"
    own = make_run("positions/none", nll=2.9)
    assert {"vs_base/ppl", "vs_base/bleu", "vs_base/seeds"} <= ending(own, runs).keys()


def test_a_study_may_plan_rows_of_other_budgets(
    make_run: MakeRun, runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = {
        "base": {seed: make_run("base", seed=seed) for seed in (1, 2)},
        "short": {seed: make_run("base", "optimization.max_steps=8", seed=seed, nll=2.2) for seed in (1, 2)},
    }
    against = f"against={made['base'][1]}"
    monkeypatch.chdir(tmp_path)
    assert main(["compare", f"run={made['short'][1]}", against, "split=dev"]) == 2
    freeze(made, runs, looks=False)
    summaries = of_study(read_registered(runs, "heads"))
    for path in made["short"].values():
        assert str(summaries[path]["vs_base/budgets"]).startswith("8 steps of ")
        assert main(["compare", f"run={path}", against, "split=dev", "output=compare.json"]) == 0
    assert main(["report", "comparison", against, "output=comparison.json"]) == 0
    assert main(["report", "hypotheses", "study=heads", "output=study.json"]) == 0
    for name in ("compare", "comparison"):
        assert "8 steps of " in Path(f"{name}.json").read_text(encoding="utf-8")
    systems = json.loads(Path("comparison.json").read_text(encoding="utf-8"))["systems"]
    assert [("ppl_difference" in system) for system in systems].count(True) == 1


def two_rows(make_run: MakeRun) -> dict[str, dict[int, Path]]:
    return {
        row: {seed: make_run(row, seed=seed, nll=nll) for seed in (1, 2)}
        for row, nll in (("base", 2.0), ("a_h32", 2.2))
    }


@pytest.mark.parametrize("looks", [False, True])
def test_a_study_says_nothing_before_its_end_unless_its_plan_allows_looks(
    make_run: MakeRun, runs: Path, looks: bool
) -> None:
    made = two_rows(make_run)
    freeze(made, runs, looks=looks)
    last = RunDirectory(made["a_h32"][2])
    assert bool(ending(last.path, runs)) == looks
    record = read_record(last.record)
    replace(record, status=Status.interrupted, scores={}).write(last.record)
    for found in (tabled(runs), of_study(read_registered(runs, "heads"))):
        assert found.keys() == ({made["a_h32"][1]} if looks else set())
        assert all(VERDICT not in summary for summary in found.values()), "a planned run is not in"
    record.write(last.record)
    for found in (tabled(runs), of_study(read_registered(runs, "heads"))):
        assert found.keys() == {*made["a_h32"].values()}
        assert {summary[VERDICT] for summary in found.values()} == {"worse"}


def test_a_study_compares_its_rows_with_its_own_base(make_run: MakeRun, runs: Path) -> None:
    freeze(two_rows(make_run), runs, looks=False)
    make_run("base", seed=3, nll=1.0)
    summary, other = of_study(read_registered(runs, "heads")).values()
    assert summary == other
    assert summary["vs_base/base_seeds"] == 2, "the third run of base is not planned"
    assert summary["vs_base/ppl"] == pytest.approx(0.2, abs=0.05)


@given(ppl=EFFECTS, bleu=EFFECTS, is_whole=st.booleans())
def test_the_verdict_is_the_side_of_the_interval(ppl: Effect, bleu: Effect, is_whole: bool) -> None:
    summary = BesideBase({Metric.ppl: ppl, Metric.bleu: bleu}, "BLEU", [1, 2], [1]).summary(is_whole=is_whole)
    assert (VERDICT in summary) == (is_whole and ppl.error is not None)
    assert ("vs_base/ppl_low" in summary) == (ppl.error is not None)
    if VERDICT in summary and summary[VERDICT] != "open":
        assert summary[VERDICT] == ("better" if summary["vs_base/ppl"] < 0 else "worse")  # type: ignore[operator]
        assert summary["vs_base/ppl_low"] * summary["vs_base/ppl_high"] >= 0  # type: ignore[operator]
