"""Runs share a difference if their steps and batches are equal, the paper's, or planned by a study."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from aiayn.commands.front_end import main
from aiayn.reports.beside_base import at_the_end
from aiayn.runs.directory import RunDirectory
from aiayn.runs.record import read_record

MakeRun = Callable[..., Path]
SHORT = "optimization.max_steps=8"
BATCH = "optimization.source_tokens=999"


@pytest.fixture
def budgets(make_run: MakeRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Path]:
    """Runs of base, big and other rows, some of them shorter or in other batches."""
    monkeypatch.chdir(tmp_path)
    return {
        "base": make_run("base"),
        "big": make_run("big", nll=1.9),
        "short": make_run("base", SHORT, difference="max_steps=8", nll=3.0),
        "smaller": make_run("base", BATCH, difference="source_tokens=999", nll=3.0),
        "own": make_run("positions/none", nll=2.5),
        "short own": make_run("positions/none", SHORT, difference="max_steps=8", nll=3.1),
    }


def beside_base(run: Path) -> dict[str, float | int | str]:
    return dict(at_the_end(RunDirectory(run), read_record(run / "run.json"), Path("runs")))


def document(*words: str) -> dict[str, Any]:
    assert main([*words, "output=out.json"]) == 0
    found: dict[str, Any] = json.loads(Path("out.json").read_text(encoding="utf-8"))
    return found


def test_a_run_is_compared_with_a_base_of_its_budget(budgets: dict[str, Path], make_run: MakeRun) -> None:
    assert beside_base(budgets["short"]) == beside_base(budgets["smaller"]) == {}
    assert float(beside_base(budgets["own"])["vs_base/ppl"]) == pytest.approx(0.5, rel=0.2)
    short = beside_base(budgets["short own"])
    assert 0 < float(short["vs_base/ppl"]) < 0.3, "against the base of 8 steps, not the better one"
    assert "vs_base/budgets" not in short


def test_a_difference_of_the_papers_own_steps_names_both(budgets: dict[str, Path]) -> None:
    for short in ("short", "smaller"):
        (budgets[short] / "run.json").unlink()
    budget = str(beside_base(budgets["big"])["vs_base/budgets"])
    own, reference = (words.partition(" steps")[0] for words in budget.split(" against "))
    assert int(own.replace(",", "")) == pytest.approx(3 * int(reference.replace(",", "")), rel=0.02)
    assert f"budgets of big − base: {budget}" in str(document("report", "table3")["remarks"])


def test_a_comparison_has_no_difference_across_budgets(budgets: dict[str, Path]) -> None:
    found = document("report", "comparison", f"against={budgets['base']}")
    systems = {Path(system["runs"][0]): system for system in found["systems"]}
    shared = {name for name, run in budgets.items() if "ppl_difference" in systems[run.relative_to(Path.cwd())]}
    assert shared == {"big", "own"}
    remarks = [line for line in found["remarks"] if "no difference to the reference, budgets 8 steps of " in line]
    assert len(remarks) == 2


@pytest.mark.parametrize(("other", "key"), [("short", "max_steps"), ("smaller", "source_tokens")])
def test_compare_refuses_unequal_budgets(
    budgets: dict[str, Path], capsys: pytest.CaptureFixture[str], other: str, key: str
) -> None:
    words = [f"run={budgets[other]}", f"against={budgets['base']}", "split=dev"]
    assert main(["compare", *words]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"aiayn: optimization.{key} differs, ")
    assert "train one of them with the other's steps and batches" in line


def test_compare_names_the_budgets_that_the_paper_prints(budgets: dict[str, Path]) -> None:
    found = document("compare", f"run={budgets['big']}", f"against={budgets['base']}", "split=dev")
    assert any(line.startswith("budgets: ") and " against " in line for line in found["notes"])
