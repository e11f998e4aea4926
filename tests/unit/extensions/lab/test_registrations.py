"""A frozen plan is written once, read as it was, and equal exactly to plans of the same content."""

import hashlib
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from aiayn.config.identity import flatten
from aiayn.errors import UserError
from aiayn.evaluation.decisions import Noise
from aiayn.extensions.lab.planned import pilots_of_studies
from aiayn.extensions.lab.registrations import (
    Floor,
    PlannedRow,
    Registration,
    StudyPlan,
    StudyTerms,
    leading_studies,
    read_looks,
    read_registration,
    record_look,
    registration_file,
)
from aiayn.paper.claims import Metric, load_claims
from aiayn.runs.provenance import Code

PLAN = StudyPlan(
    base="base",
    rows={
        "base": PlannedRow(("experiment=table3/base",), {"model.d_ff": 32, "fidelity": "paper"}, {1: "a-1", 2: "a-2"}),
        "mine": PlannedRow(("experiment=mine",), {"model.d_ff": 64, "fidelity": "paper"}, {1: "b-1"}),
    },
    looks=False,
    claims={"helps": {"id": "helps", "primary": [{"better": "mine", "worse": "base", "effect": 0.03}]}},
    analysis={"level": 0.025},
    terms=StudyTerms(Floor(0.063, "text of a grammar"), (3500, 4900), ("AMD EPYC",), "docs/results/lab/capacity"),
)

REGISTRATION = Registration(
    name="study",
    plan=PLAN,
    time="2026-01-01T00:00:00+00:00",
    code=Code("0123456789ab", dirty=True, patch="ba9876543210"),
    command="aiayn train",
    noises={Metric.ppl: Noise(seeds=0.1, sentences=0.2)},
    powers={"helps": 0.5},
    effects={"helps": [-0.03]},
)


def test_the_order_of_keys_does_not_matter() -> None:
    other = StudyPlan.read(json.loads(json.dumps(PLAN.plain(), sort_keys=True)))
    assert replace(REGISTRATION, plan=other).sha256 == REGISTRATION.sha256
    assert PLAN.difference(other) is None


def altered(value: Any, key: str = "") -> Iterator[tuple[str, Any]]:
    """Every copy of a value in which one leaf differs, and the dotted key of the leaf; a list is one leaf."""
    match value:
        case dict():
            for name, inside in value.items():
                yield from (
                    (leaf, value | {name: other}) for leaf, other in altered(inside, f"{key}.{name}".strip("."))
                )
        case list() | tuple():
            yield key, [next(other for _, other in altered(value[0])), *value[1:]]
        case bool():
            yield key, not value
        case int() | float():
            yield key, value + 1
        case _:
            yield key, f"{value}x"


def test_another_value_is_another_plan_and_is_named() -> None:
    plain = json.loads(json.dumps(PLAN.plain()))
    for key, changed in altered(plain):
        if not key.endswith(".seeds"):  # they are those of the runs
            other = StudyPlan.read(changed)
            assert replace(REGISTRATION, plan=other).sha256 != REGISTRATION.sha256, key
            assert PLAN.difference(other) == (key, flatten(plain)[key], flatten(changed)[key])


def test_a_plan_with_every_claim_of_the_paper_equals_itself_when_read(tmp_path: Path) -> None:
    plan = replace(PLAN, claims={claim.id: dict(claim.entry) for claim in load_claims()})
    replace(REGISTRATION, plan=plan).write(tmp_path)
    assert read_registration(tmp_path, "study").plan.difference(plan) is None


def test_one_more_seed_is_named_as_such() -> None:
    more = PLAN.plain()
    more["rows"]["mine"]["runs"]["2"] = "b-2"
    assert PLAN.difference(StudyPlan.read(more)) == ("rows.mine.seeds", [1], [1, 2])


def test_of_several_writers_one_writes_and_nobody_reads_half_a_file(tmp_path: Path) -> None:
    def write(_: int) -> bool:
        try:
            REGISTRATION.write(tmp_path)
        except FileExistsError:
            assert read_registration(tmp_path, "study") == REGISTRATION
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(write, range(32))) == 1
    assert [path.name for path in (tmp_path / "registrations").iterdir()] == ["study.json"]


def test_a_change_of_any_value_of_the_file_is_refused(tmp_path: Path) -> None:
    REGISTRATION.write(tmp_path)
    for key, changed in altered(REGISTRATION.plain()):
        registration_file(tmp_path, "study").write_text(json.dumps(changed))
        with pytest.raises(UserError, match="has changed since the plan was frozen"):
            pytest.fail(f"{key}: {read_registration(tmp_path, 'study')}")


@pytest.mark.parametrize("text", ["", "{}", "[1]", '{"plan": 3}', "not JSON"])
def test_a_damaged_file_is_refused_in_one_line(tmp_path: Path, text: str) -> None:
    REGISTRATION.write(tmp_path)
    path = registration_file(tmp_path, "study")
    path.write_text(text)
    with pytest.raises(UserError) as refused:
        read_registration(tmp_path, "study")
    assert str(refused.value).startswith(f"{path}: not ")
    assert "\n" not in str(refused.value)


def test_a_study_without_a_plan_is_refused_with_those_that_have_one(tmp_path: Path) -> None:
    REGISTRATION.write(tmp_path)
    with pytest.raises(UserError, match=r"study=other: no frozen plan .*\(there are: study\)"):
        read_registration(tmp_path, "other")


def test_looks_of_several_processes_are_all_kept(tmp_path: Path) -> None:
    assert read_looks(tmp_path, "study") == []
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda finished: record_look(tmp_path, "study", finished), range(50)))
    looks = read_looks(tmp_path, "study")
    assert sorted(look.finished for look in looks) == list(range(50))
    assert all(look.time for look in looks)


def test_pilots_are_the_runs_of_plans_without_claims_and_those_named_by_earlier_rules(tmp_path: Path) -> None:
    earlier = replace(PLAN, other={"pilots": {"base": {"1001": "c-1", "1002": "c-2"}}})
    replace(REGISTRATION, name="earlier", plan=earlier).write(tmp_path)
    replace(REGISTRATION, name="pilots", plan=replace(PLAN, claims={})).write(tmp_path)
    (tmp_path / "registrations/earlier.pilots").write_text("c-1\nc-3\n")
    (tmp_path / "registrations/lost.pilots").write_text("c-4\n")
    assert pilots_of_studies(tmp_path) == {
        "earlier": {"c-1", "c-2", "c-3"},
        "pilots": {"a-1", "a-2", "b-1"},
        "lost": {"c-4"},
    }


def test_a_study_that_tells_the_power_of_another_one_does_not_lead(tmp_path: Path) -> None:
    told = replace(PLAN, terms=StudyTerms(power_from="pilots"))
    for name, plan in {"pilots": PLAN, "told": told, "other": PLAN}.items():
        replace(REGISTRATION, name=name, plan=plan).write(tmp_path)
    assert leading_studies(tmp_path) == ["other", "told"]


@pytest.mark.parametrize(
    ("part", "complaint"),
    [
        ({"pilots": []}, "pilots:"),
        ({"pilots": {"base": "a-1001"}}, r"pilots: base="),
        ({"pilots": {"base": {"first": "a-1001"}}}, r"pilots: base\.first"),
        ({"terms": {"floor": {"log_ppl": "0.1", "why": "text"}}}, r"terms: floor\.log_ppl="),
    ],
    ids=str,
)
def test_parts_of_another_form_are_refused_in_one_line(part: dict[str, Any], complaint: str) -> None:
    with pytest.raises(UserError, match=f"^plan: {complaint}"):
        StudyPlan.read(PLAN.plain() | part)


def test_what_earlier_files_state_beside_is_kept_with_their_hash(tmp_path: Path) -> None:
    """The plans that were frozen first by these rules state that they have no pilots, which is no difference."""
    assert "terms" not in replace(PLAN, terms=StudyTerms()).plain(), "nor do earlier files have terms"
    for name, beside in {"first": {}, "former": {"base": {"1001": "a-1001"}}}.items():
        plan = PLAN.plain() | {"pilots": beside, "gates": {"converged": {"largest_fall": 0.01}}}
        content = REGISTRATION.plain() | {"name": name, "pilots": [*beside], "plan": plan}
        del content["sha256"]
        sha256 = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
        (tmp_path / "registrations").mkdir(exist_ok=True)
        registration_file(tmp_path, name).write_text(json.dumps({"sha256": sha256, **content}))
        found = read_registration(tmp_path, name)
        assert (found.plain(), found.sha256) == ({"sha256": sha256, **content}, sha256)
        pilots = {key: value for key, value in found.plan.other.items() if key == "pilots"}
        difference = ("pilots.base.1001", None, "a-1001") if beside else None
        assert PLAN.difference(replace(PLAN, other=pilots)) == difference
