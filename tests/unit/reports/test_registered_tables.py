"""Table 3 of runs of a frozen plan is judged by the plan, and can be published with it."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from frozen_plans import freeze

from aiayn.commands.front_end import main
from aiayn.paper.claims import load_claims
from aiayn.reports.verdicts import Verdict

MakeRun = Callable[..., Path]
SEEDS = range(1, 6)


@pytest.fixture
def runs(make_run: MakeRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A study of base and too many heads with five seeds each, and a further seed of base."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "runs"

    def made_with(row: str, seed: int, ppl: float) -> Path:
        curve = dict.fromkeys((800, 900, 1000), ppl + 0.01 * (seed % 3))
        return make_run(row, seed=seed, nll=math.log(ppl), curve=curve)

    made = {
        row: {seed: made_with(row, seed, ppl) for seed in SEEDS} for row, ppl in {"base": 7.4, "a_h32": 9.0}.items()
    }
    made_with("base", 6, 7.4)
    claims = {claim.id: claim.entry for claim in load_claims() if claim.id == "too_many_heads"}
    freeze(made, folder, claims=claims, powers={"too_many_heads": 0.42})
    return folder


def table() -> dict[str, Any]:
    """The report, and its claims by id."""
    assert main(["report", "table3", "output=table3.json"]) == 0
    report = json.loads(Path("table3.json").read_text(encoding="utf-8"))
    return {"remarks": "\n".join(report["remarks"])} | {claim["claim"]: claim for claim in report["claims"]}


def test_a_claim_of_the_plan_has_its_power_and_its_verdict(runs: Path) -> None:
    found = table()
    assert (found["too_many_heads"]["verdict"], found["too_many_heads"]["power"]) == (Verdict.reproduced, 0.42)
    assert found["one_head"]["verdict"] == Verdict.not_tested
    assert "plan: heads, frozen 2020-01-01" in found["remarks"]
    assert "base, seed 6: not in the plan" in found["remarks"]
    assert not (runs / "registrations" / "heads.looks").exists(), "all planned runs are in"
