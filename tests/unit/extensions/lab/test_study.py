"""The file of a study is read as it is stated, and invalid values are refused in one line with their key."""

from copy import deepcopy
from typing import Any

import pytest
from omegaconf import DictConfig, OmegaConf

from aiayn.errors import UserError
from aiayn.extensions.lab.registrations import Floor, StudyTerms
from aiayn.extensions.lab.schema import RegisteredConfig
from aiayn.extensions.lab.study import Study, read_study
from aiayn.paper.claims import Metric, load_claims, read_claim

STATED: dict[str, Any] = {
    "stage": "runs",
    "base": "base",
    "rows": {"base": ["experiment=table3/base"], "a_h1": ["experiment=table3/a_h1"], "mine": ["model.dropout=0.2"]},
    "seeds": {"base": 4, "others": [3, 5]},
    "looks": False,
    "claims": [
        {"paper": "one_head"},
        {
            "id": "helps",
            "statement": "Mine is better.",
            "primary": [
                {"better": "mine", "worse": "base", "effect": 0.03},
                {"better": "mine", "worse": "base", "effect": 0.5, "metric": "bleu"},
                {"alike": ["mine", "base"], "share_of": ["a_h1", "base"], "effect": 0.08},
                {"alike": ["mine", "base"], "within": 0.01},
                {"trend": {"a_h1": 1, "base": 8}, "effect": 0.02},
            ],
            "may_fail": True,
            "requires": "one_head",
        },
    ],
    "floor": {"log_ppl": 0.063, "why": "measured"},
    "steps": [3500],
}


def study(**changes: Any) -> Study:
    """The study of a file with other values under dotted keys."""
    stated = OmegaConf.create(deepcopy(STATED))
    for key, value in changes.items():
        OmegaConf.update(stated, key.replace("__", "."), value, merge=False, force_add=True)
    merged = OmegaConf.merge(OmegaConf.structured(RegisteredConfig), stated)
    assert isinstance(merged, DictConfig)
    return read_study(merged)


def assert_refused(complaint: str, **changes: Any) -> None:
    with pytest.raises(UserError) as refused:
        study(**changes)
    assert str(refused.value).startswith(f"hydra.sweeper.{complaint}")
    assert "\n" not in str(refused.value)


def test_seeds_are_counted_from_1_or_listed() -> None:
    found = study()
    assert found.seeds == {"base": (1, 2, 3, 4), "a_h1": (3, 5), "mine": (3, 5)}
    assert found.jobs == [(row, seed) for row, seeds in found.seeds.items() for seed in seeds]


def test_claims_of_the_paper_keep_their_effects_and_own_ones_have_the_stated_ones() -> None:
    paper, own = study().claims
    assert paper == next(claim for claim in load_claims() if claim.id == "one_head")
    ppl, bleu, above, below, over, under, trend = own.primary
    assert (ppl.weights, ppl.effect) == ({"mine": 1, "base": -1}, -0.03)
    assert (bleu.metric, bleu.effect) == (Metric.bleu, 0.5)
    assert above.effect == below.effect == pytest.approx(-0.02)
    assert over.effect == under.effect == pytest.approx(-0.01)
    assert trend.effect == pytest.approx(-0.02)
    assert trend.steps == (("base", "a_h1"),)
    assert (own.may_fail, own.requires) == (True, "one_head")


def test_terms_are_those_that_the_file_states() -> None:
    assert study().terms == StudyTerms(Floor(0.063, "measured"), steps=(3500,))
    assert study(claims=[]).claims == (), "a study of pilots alone"


def test_claims_are_the_same_when_read_from_a_plan() -> None:
    for claims in (study().claims, load_claims()):
        assert tuple(read_claim(claim.entry) for claim in claims) == claims


NUMBERED: dict[Any, Any] = {1: 3}
"""YAML has numbers as keys too."""

PAIR: dict[Any, Any] = {"better": "mine", "worse": "base", "effect": 0.1}
CLAIM: dict[Any, Any] = {"id": "x", "statement": "X.", "primary": [PAIR]}


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"base": "none"}, "base=none: no such row; choose from base, a_h1, mine"),
        ({"rows__others": []}, "rows.others: in seeds this name means all other rows"),
        ({"seeds": "???"}, "seeds has no value"),
        ({"seeds": {"base": 3}}, "seeds: has none for row a_h1"),
        ({"seeds__unknown": 3}, "seeds.unknown: no such row; choose from base, a_h1, mine, others"),
        ({"seeds__bas": 3}, "seeds.bas: no such row; did you mean hydra.sweeper.seeds.base?"),
        ({"seeds": {"others": 2} | NUMBERED}, "seeds.1: no such row"),
        ({"seeds": 0}, "seeds=0: state them by row, as in {base: 8, others: 4}"),
        ({"seeds__base": 0}, "seeds.base=0: must be at least 1"),
        ({"seeds__base": [-1]}, "seeds.base=-1: must be at least 0"),
        ({"seeds__base": [1, 1]}, "seeds.base=[1, 1]: state each seed once"),
        ({"seeds__base": []}, "seeds.base=[]: state each seed once, at least one"),
        ({"seeds__base": "many"}, "seeds.base=many: must be a whole number"),
        ({"floor": {"log_ppl": 0.1}}, "floor.why has no value"),
        ({"floor": {"log_ppl": -1, "why": "x"}}, "floor.log_ppl=-1: must be"),
        ({"floor": {"log_ppl": 0.1, "why": None}}, "floor.why=None: must be a line of text"),
        ({"steps": [0]}, "steps=0: must be at least 1"),
        ({"steps": [5, 5]}, "steps=[5, 5]: state each number once"),
        ({"processors": [""]}, "processors=: must be a line of text"),
        ({"claims": ["one_head"]}, "claims[0]=one_head: is no claim"),
        ({"claims": [{"paper": "none"}]}, "claims[0].paper=none: no such claim; choose from one_head, "),
        ({"claims": [{"paper": ["one_head"]}]}, "claims[0].paper=['one_head']: no such claim"),
        ({"claims": [{"paper": "dropout"}]}, "claims.dropout=d_drop0: no such row"),
        ({"claims": [{"paper": "one_head", "gates": []}]}, "claims[0].gates: no such key; choose from paper"),
        ({"claims": [CLAIM, CLAIM]}, "claims.x: there are two claims of this id"),
    ],
)
def test_a_mistake_is_one_line_with_its_key(changes: dict[str, Any], complaint: str) -> None:
    assert_refused(complaint, **changes)


@pytest.mark.parametrize(
    ("claim", "complaint"),
    [
        ({"id": "x", "statement": "X."}, "claims[0].primary has no value"),
        (CLAIM | {"id": " "}, "claims[0].id= : must be a line of text"),
        (CLAIM | {"id": None}, "claims[0].id=None: must be"),
        (CLAIM | {"statement": ["X."]}, "claims[0].statement=['X.']: must be"),
        (CLAIM | {"statement": "X\n."}, "claims[0].statement="),
        (CLAIM | {"primary": []}, "claims[0].primary=[]: state a list"),
        (CLAIM | {"primry": []}, "claims[0].primry: no such key; did you mean hydra.sweeper.claims[0].primary?"),
        (CLAIM | {"gates": []}, "claims[0].gates: no such key; choose from id, "),
        (CLAIM | NUMBERED, "claims[0].1: no such key"),
        (CLAIM | {"may_fail": 1}, "claims[0].may_fail=1: state true or false"),
        (CLAIM | {"requires": "none"}, "claims.x: requires claim none; state it too"),
        (CLAIM | {"requires": "x"}, "claims.x: requires claim x, which requires x; state one"),
        (CLAIM | {"requires": None}, "claims[0].requires=None: must be"),
    ],
)
def test_a_mistake_in_a_claim_is_one_line(claim: dict[str, Any], complaint: str) -> None:
    assert_refused(complaint, claims=[claim])


@pytest.mark.parametrize(
    ("comparison", "complaint"),
    [
        ("mine", "=mine: is no comparison"),
        (PAIR | {"better": ["mine"]}, "=['mine']: no such row"),
        (PAIR | {"worse": "none"}, "=none: no such row"),
        (PAIR | {"worse": "mine"}, "=['mine', 'mine']: compares two rows"),
        ({"better": "mine", "effect": 1}, ".worse has no value"),
        ({"better": "mine", "worse": "base"}, ".effect has no value"),
        (PAIR | {"effect": 0}, ".effect=0: must be"),
        (PAIR | {"within": 1}, ".within: no such key"),
        (PAIR | {"metric": "f1"}, ".metric=f1: choose from ppl"),
        ({"alike": ["mine", "base"], "effect": 1}, ".share_of has no value"),
        ({"alike": ["mine", "base"], "within": 0}, ".within=0: must be"),
        ({"alike": ["mine"], "share_of": ["a_h1", "base"], "effect": 1}, "=['mine']: compares two rows"),
        ({"alike": ["mine", "base"], "share_of": ["base", "mine"], "effect": 1}, "=['mine', 'base']: a difference is"),
        ({"trend": ["mine", "base"], "effect": 1}, ".trend=['mine', 'base']: state the size"),
        ({"trend": {"mine": 1}, "effect": 1}, ".trend={'mine': 1}: state the size of at"),
        ({"trend": {"mine": 1, "base": 1}, "effect": 1}, ".trend={'mine': 1, 'base': 1}: two"),
        ({"trend": {"mine": 1, "base": "x"}, "effect": 1}, ".trend.base=x: must be a number"),
        ({"trend": {"mine": 1, "none": 2}, "effect": 1}, ".trend=none: no such row"),
    ],
)
def test_a_mistake_in_a_comparison_is_one_line(comparison: Any, complaint: str) -> None:
    assert_refused(f"claims[0].primary[0]{complaint}", claims=[CLAIM | {"primary": [comparison]}])
