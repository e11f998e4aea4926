"""The file of a study is read as it is stated, and invalid values are refused in one line with their key."""

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from omegaconf import DictConfig, OmegaConf

from aiayn.config.sweep_schema import RegisteredConfig
from aiayn.errors import UserError
from aiayn.paper.claims import Metric, load_claims, read_claim
from aiayn.runs.registrations import Floor, StudyTerms
from aiayn.sweep.study import Study, read_study

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


def sweeper(**changes: Any) -> DictConfig:
    """`hydra.sweeper` with other values under dotted keys."""
    stated = OmegaConf.create(deepcopy(STATED))
    for key, value in changes.items():
        OmegaConf.update(stated, key.replace("__", "."), value, merge=False, force_add=True)
    merged = OmegaConf.merge(OmegaConf.structured(RegisteredConfig), stated)
    assert isinstance(merged, DictConfig)
    return merged


def study(**changes: Any) -> Study:
    return read_study(sweeper(**changes))


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

CLAIM: dict[Any, Any] = {"id": "x", "statement": "X.", "primary": [{"better": "mine", "worse": "base", "effect": 0.1}]}


def claim(**changes: Any) -> dict[str, Any]:
    return {"claims": [{**CLAIM, **changes}]}


def comparison(**fields: Any) -> dict[str, Any]:
    return claim(primary=[fields])


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"base": "none"}, "base=none: no such row; choose from base, a_h1, mine"),
        ({"rows__others": []}, "rows.others: in seeds this name means all other rows"),
        ({"seeds": {"base": 3}}, "seeds: has none for row a_h1"),
        ({"seeds__unknown": 3}, "seeds.unknown: no such row; choose from base, a_h1, mine, others"),
        ({"seeds__bas": 3}, "seeds.bas: no such row; did you mean hydra.sweeper.seeds.base?"),
        ({"seeds": 0}, "seeds=0: state them by row, as in {base: 8, others: 4}"),
        ({"seeds": [1, 2]}, "seeds=[1, 2]: state them by row"),
        ({"seeds__base": 0}, "seeds.base=0: must be at least 1"),
        ({"seeds__others": -3}, "seeds.others=-3: must be at least 1"),
        ({"seeds__base": [1, 1]}, "seeds.base=[1, 1]: state each seed once"),
        ({"seeds__base": []}, "seeds.base=[]: state each seed once, at least one"),
        ({"seeds__base": "many"}, "seeds.base=many: must be a whole number"),
        ({"claims": ["one_head"]}, "claims[0]=one_head: is no claim"),
        ({"claims": [{"paper": "none"}]}, "claims[0].paper=none: no such claim; choose from one_head, "),
        ({"claims": [{"paper": "dropout"}]}, "claims.dropout=d_drop0: no such row"),
        ({"claims": [{"paper": "one_head", "gates": []}]}, "claims[0].gates: no such key; choose from paper"),
        ({"claims": [{"paper": "learned_positions"}]}, "claims.learned_positions=e_learned: no such row"),
        ({"floor": {"log_ppl": 0.1}}, "floor.why has no value"),
        ({"floor": {"log_ppl": -1, "why": "x"}}, "floor.log_ppl=-1: must be a number greater than 0"),
        ({"steps": [0]}, "steps=0: must be at least 1"),
        ({"claims": [CLAIM, CLAIM]}, "claims.x: there are two claims of this id"),
        ({"claims": [{"id": "x", "statement": "X."}]}, "claims[0].primary has no value"),
        (claim(id=" "), "claims[0]: state an id"),
        (claim(primary=[]), "claims[0].primary=[]: state a list"),
        (claim(primry=[]), "claims[0].primry: no such key; did you mean hydra.sweeper.claims[0].primary?"),
        (claim(gates=[]), "claims[0].gates: no such key; choose from id, "),
        (claim(may_fail=1), "claims[0].may_fail=1: state true or false"),
        (claim(requires="none"), "claims.x: requires claim none; state it too"),
        ({"claims": [{"paper": ["one_head"]}]}, "claims[0].paper=['one_head']: no such claim"),
        ({"claims": [CLAIM | NUMBERED]}, "claims[0].1: no such key"),
        ({"seeds": {"others": 2} | NUMBERED}, "seeds.1: no such row"),
        (comparison(better=["mine"], worse="base", effect=1), "claims[0].primary[0]=['mine']: no such row"),
        (
            comparison(alike=["mine", ["base"]], share_of=["a_h1", "base"], effect=1),
            "claims[0].primary[0]=['base']: no",
        ),
        (comparison(trend={"mine": 1}, effect=1), "claims[0].primary[0].trend={'mine': 1}: state the size of at"),
        (comparison(trend={"mine": 1, "base": 1}, effect=1), "claims[0].primary[0].trend={'mine': 1, 'base': 1}: two"),
        (comparison(trend={"mine": 1, "base": "x"}, effect=1), "claims[0].primary[0].trend.base=x: must be a number"),
        (comparison(trend=["mine", "base"], effect=1), "claims[0].primary[0].trend=['mine', 'base']: state the size"),
        (claim(effect=3), "claims[0].effect: no such key"),
        (comparison(better="mine", worse="base"), "claims[0].primary[0].effect has no value"),
        (comparison(better="mine", worse="base", effect=0), "claims[0].primary[0].effect=0: must be a number greater"),
        (comparison(better="mine", worse="base", effect="big"), "claims[0].primary[0].effect=big: must be a number"),
        (comparison(better="mine", worse="none", effect=1), "claims[0].primary[0]=none: no such row"),
        (comparison(better="mine", worse="mine", effect=1), "claims[0].primary[0]=['mine', 'mine']: compares two rows"),
        (comparison(alike=["mine", "base"], effect=1), "claims[0].primary[0].share_of has no value"),
        (comparison(alike=["mine", "base"], within=0), "claims[0].primary[0].within=0: must be a number greater"),
        (comparison(better="mine", worse="base", within=1), "claims[0].primary[0].within: no such key"),
        (
            comparison(alike=["mine"], share_of=["a_h1", "base"], effect=1),
            "claims[0].primary[0]=['mine']: compares two rows",
        ),
        (
            comparison(better="mine", worse="base", effect=1, metric="f1"),
            "claims[0].primary[0].metric=f1: choose from ppl",
        ),
        (comparison(better="mine", effect=1), "claims[0].primary[0].worse has no value"),
        (
            comparison(better="mine", than="base", effect=1),
            "claims[0].primary[0].than: no such key; choose from ",
        ),
        (
            comparison(beter="mine", worse="base", effect=1),
            "claims[0].primary[0].beter: no such key; did you mean ",
        ),
        ({"claims": [claim(primary=["mine"])["claims"][0]]}, "claims[0].primary[0]=mine: is no comparison"),
    ],
)
def test_a_mistake_is_one_line_with_its_key(changes: dict[str, Any], complaint: str) -> None:
    with pytest.raises(UserError) as refused:
        study(**changes)
    assert str(refused.value).startswith(f"hydra.sweeper.{complaint}")
    assert "\n" not in str(refused.value)


def test_a_key_that_the_file_leaves_out_is_named() -> None:
    stated = sweeper()
    stated.seeds = "???"
    with pytest.raises(UserError, match=r"hydra\.sweeper\.seeds has no value"):
        read_study(stated)


@given(st.dictionaries(st.sampled_from(["base", "a_h1", "mine"]), st.integers(1, 20)), st.integers(1, 20))
def test_every_row_has_its_own_seeds_or_those_of_the_others(own: dict[str, int], others: int) -> None:
    found = study(seeds={**own, "others": others})
    assert {row: len(seeds) for row, seeds in found.seeds.items()} == {
        row: own.get(row, others) for row in STATED["rows"]
    }
    assert len(found.jobs) == sum(map(len, found.seeds.values()))
