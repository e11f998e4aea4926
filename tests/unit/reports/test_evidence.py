"""What the runs of a published study tell of the power of another one."""

from dataclasses import replace
from pathlib import Path

import pytest

from aiayn.paper.claims import load_claims
from aiayn.reports.judgement import STUDY
from aiayn.reports.power import Evidence, claim_powers, published_evidence
from aiayn.reports.verdicts import CUT

pytestmark = pytest.mark.slow

CAPACITY = Path(__file__).parents[3] / "docs" / "results" / "lab" / "capacity"
BIG, ONE_HEAD = (next(claim for claim in load_claims() if claim.id == name) for name in ("big_is_best", "one_head"))
SEEDS = {"base": 5, "a_h1": 5, "c_d1024": 5, "big": 5}


@pytest.fixture(scope="module")
def evidence() -> Evidence:
    """Of a study whose base has half of the published steps, beside a budget of as many."""
    return published_evidence(CAPACITY, "base", [None, 3500], {"base": 3520, "a_h1": 3520})


def test_a_row_counts_up_to_its_planned_steps(evidence: Evidence) -> None:
    planned, half = (evidence.measured[steps].compared(ONE_HEAD.primary[0].metric) for steps in (None, 3500))
    assert (planned["base"], planned["a_h1"]) == (half["base"], half["a_h1"])
    assert planned["c_d1024"] < half["c_d1024"], "its steps are not planned, and all of them count"


def test_a_share_of_a_published_effect_is_assumed_but_not_that_of_a_row_that_did_not_learn(evidence: Evidence) -> None:
    found = {
        each.claim.id: each for each in claim_powers([ONE_HEAD, BIG], SEEDS, evidence, replace(STUDY, base="base"))
    }
    measured = evidence.measured[None].compared(ONE_HEAD.primary[0].metric)
    assert found["one_head"].effects == pytest.approx([CUT * (measured["base"] - measured["a_h1"])])
    assert measured["big"] > measured["base"] + 1, "it failed there"
    assert found["big_is_best"].effects == pytest.approx([each.effect for each in BIG.primary])
