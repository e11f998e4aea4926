"""What the runs of a published study tell of the power of another one."""

import math
from dataclasses import replace
from pathlib import Path

import pytest

from aiayn.extensions.lab.power import Evidence, claim_powers
from aiayn.extensions.lab.registrations import PlannedRow, StudyPlan, StudyTerms
from aiayn.paper.claims import load_claims
from aiayn.reports.judgement import STUDY
from aiayn.reports.verdicts import CUT

BIG, ONE_HEAD = (next(claim for claim in load_claims() if claim.id == name) for name in ("big_is_best", "one_head"))


@pytest.mark.slow
def test_rows_count_up_to_their_planned_steps_and_a_share_of_their_effects_is_assumed_if_they_learned(
    recorded: Path,
) -> None:
    """Base has half of the published steps, beside a budget of as many."""
    rows = dict.fromkeys(("base", "a_h1"), PlannedRow((), {"optimization.max_steps": 3520}, {}))
    terms = StudyTerms(steps=(3500,), power_from=str(recorded / "lab" / "capacity"))
    plan = StudyPlan("base", rows, looks=False, claims={}, analysis={}, terms=terms)
    evidence = Evidence.read(Path(), plan)
    planned, half = (evidence.measured[steps].compared(ONE_HEAD.primary[0].metric) for steps in (None, 3500))
    assert planned == half, "rows that the plan does not have count up to the steps of base"
    seeds, rules = dict.fromkeys(("base", "a_h1", "c_d1024", "big"), 5), replace(STUDY, base="base")
    one_head, big = claim_powers([ONE_HEAD, BIG], seeds, evidence, rules)
    assert one_head.effects == pytest.approx([CUT * (planned["base"] - planned["a_h1"])])
    assert planned["big"] > planned["base"] + 1, "it failed there"
    assert big.effects == pytest.approx([each.effect for each in BIG.primary])
    assert "fewer steps" not in evidence.in_words


@pytest.mark.slow
@pytest.mark.parametrize(
    ("steps", "remark"),
    [(20, "power is unknown"), pytest.param(8000, "a_h1 7,000 of 8,000", marks=pytest.mark.long)],
)
def test_a_plan_beyond_the_curves_of_the_published_runs_says_so(steps: int, remark: str, recorded: Path) -> None:
    """After 20 steps no published run has been validated; 8,000 none of them has, but for base_long and big."""
    rows = dict.fromkeys(("base", "a_h1"), PlannedRow((), {"optimization.max_steps": steps}, {}))
    terms = StudyTerms(power_from=str(recorded / "lab" / "capacity"))
    evidence = Evidence.read(Path(), StudyPlan("base", rows, looks=False, claims={}, analysis={}, terms=terms))
    assert remark in evidence.in_words
    (found,) = claim_powers([ONE_HEAD], {"base": 8, "a_h1": 5}, evidence, STUDY)
    assert all(map(math.isfinite, found.effects))
    if found.power is None:
        assert found.effects == pytest.approx([each.effect for each in ONE_HEAD.primary])
