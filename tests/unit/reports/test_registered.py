"""A registered study is judged on its planned runs, and names every deviation from the frozen plan."""

import json
import math
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml

from aiayn.commands.front_end import main
from aiayn.config.report_schema import OnlyComparedConfig
from aiayn.errors import UserError
from aiayn.evaluation.decisions import Noise
from aiayn.paper.claims import Metric
from aiayn.reports.comparison import compare
from aiayn.reports.comparison_grids import document
from aiayn.reports.deviations import Deviation, Kind, deviations_of, plan_remarks
from aiayn.reports.hypotheses import document as hypotheses_document
from aiayn.reports.power import Evidence
from aiayn.reports.registered import ANALYSIS, LAST_OF_RULES, RegisteredStudy, read_registered, registration_of
from aiayn.reports.reported_runs import finished_run
from aiayn.reports.verdicts import Verdict
from aiayn.runs.ledger import pilots_left_out
from aiayn.runs.provenance import Code
from aiayn.runs.record import Status, read_record
from aiayn.runs.registrations import (
    PlannedRow,
    Registration,
    StudyPlan,
    StudyTerms,
    read_registration,
    record_look,
    registration_file,
)

MakeRun = Callable[..., Path]

ORIGIN = {"commit": "a" * 40, "dirty": False, "patch": None, "precision": "32-true", "tf32": False}
EARLY, FROZEN, LATE = (f"2026-01-0{day}T00:00:00+00:00" for day in (1, 2, 3))


@dataclass
class Made:
    """A study of two rows, the pilots of base that told its power, and the runs of both."""

    folder: Path
    base: list[Path]
    mine: list[Path]
    pilots: list[Path]

    def read(self) -> RegisteredStudy:
        return read_registered(self.folder, "study")

    def deviations(self, kind: Kind) -> list[str]:
        """The texts of one kind; there are no others."""
        found = deviations_of(self.read())
        assert {each.kind for each in found} <= {kind}
        return [each.text for each in found]


def name(run: Path) -> str:
    return str(run.relative_to(run.parents[2]))


@pytest.fixture
def made(tmp_path: Path, study: Made) -> Made:
    """A copy of the study below tmp_path / "runs", which a test may change."""
    folder = tmp_path / "runs"
    shutil.copytree(study.folder, folder)
    base, mine, pilots = (
        [folder / run.relative_to(study.folder) for run in runs] for runs in (study.base, study.mine, study.pilots)
    )
    return Made(folder, base, mine, pilots)


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory, make_run_in: MakeRun) -> Made:
    folder = tmp_path_factory.mktemp("study") / "runs"
    make_run = partial(make_run_in, folder)

    def runs(row: str, seeds: range, nll: float, started: str = LATE) -> list[Path]:
        return [
            make_run(
                row, seed=seed, nll=of, started=started, curve=dict.fromkeys((800, 900, 1000), math.exp(of)), **ORIGIN
            )
            for seed in seeds
            for of in [nll + 0.001 * (seed % 7)]
        ]

    base, mine = runs("base", range(1, 6), 2.0), runs("d_ls0", range(1, 6), 1.9)
    pilots = runs("base", range(1001, 1004), 2.0, EARLY)
    pilot_plan, plan = (
        StudyPlan(
            base="base",
            rows={row: PlannedRow((row,), settings(each[0]), by_seed(each)) for row, each in rows.items()},
            looks=False,
            claims={},
            analysis=ANALYSIS,
        )
        for rows in ({"base": pilots}, {"base": base, "mine": mine})
    )
    plan = replace(
        plan,
        claims={
            claim: {"id": claim, "statement": claim, "primary": [comparison]}
            for claim, comparison in {
                "helps": {"better": "mine", "worse": "base", "effect": 0.05},
                "hurts": {"better": "base", "worse": "mine", "effect": 0.05},
            }.items()
        },
        terms=StudyTerms(power_from="pilots"),
    )
    noises = dict.fromkeys(Metric, Noise(seeds=1e-4, sentences=1e-6))
    powers = {"helps": 0.4, "hurts": 0.9}
    code = Code("a" * 40, dirty=False, patch=None)
    Registration("study", plan, FROZEN, code, "aiayn train", noises, powers).write(folder)
    Registration("pilots", pilot_plan, EARLY, code, "aiayn train", None, {}).write(folder)
    return Made(folder, base, mine, pilots)


def by_seed(runs: list[Path]) -> dict[int, str]:
    return {read_record(run / "run.json").seed: name(run) for run in runs}


def settings(run: Path) -> dict[str, Any]:
    found = finished_run(run)
    assert found is not None
    return found.settings


def change_record(run: Path, **fields: Any) -> None:
    replace(read_record(run / "run.json"), **fields).write(run / "run.json")


def change_config(run: Path, change: Callable[[dict[str, Any]], None]) -> None:
    content = yaml.safe_load((run / "config.yaml").read_text())
    change(content)
    (run / "config.yaml").write_text(yaml.safe_dump(content))


def change_plan(folder: Path, **fields: Any) -> None:
    """Write the plan with other content, as if it had been frozen so."""
    registration = read_registration(folder, "study")
    registration_file(folder, "study").unlink()
    replace(registration, plan=replace(registration.plan, **fields)).write(folder)


def remove(run: Path) -> None:
    (run / "run.json").unlink()


def test_a_study_that_was_run_as_planned_has_verdicts_and_no_deviation(made: Made) -> None:
    study = made.read()
    assert study.is_complete
    assert deviations_of(study) == ()
    assert [claim.verdict for claim in study.claims] == [Verdict.reproduced, Verdict.contradicted]
    assert [claim.power for claim in study.claims] == [0.4, 0.9], "as frozen"
    assert {row: study.measured.seeds(row) for row in ("base", "mine")} == {"base": 5, "mine": 5}
    assert "deviations from the plan: none" in list(plan_remarks(study))


def test_no_claim_is_tested_before_its_runs_are_in(made: Made) -> None:
    remove(made.mine[0])
    remove(made.mine[2])
    study = made.read()
    assert not study.is_complete
    assert {claim.verdict for claim in study.claims} == {Verdict.not_tested}
    assert {claim.reason for claim in study.claims} == {"2 planned runs not in: 2 of mine"}
    assert deviations_of(study) == (Deviation(Kind.missing, "mine, seeds 1, 3: not begun"),)


OTHER_COMMIT = "b" * 40
CHANGES: dict[str, tuple[Callable[[Path], None], Kind, str]] = {
    "configuration": (
        lambda run: change_config(run, lambda content: content["model"].update(d_ff=7)),
        Kind.changed,
        "RUN: model.d_ff is 7, planned ",
    ),
    "seed": (
        lambda run: change_config(run, lambda content: content.update(seed=7)),
        Kind.changed,
        "RUN: seed is 7, planned 1",
    ),
    "corpus": (
        partial(change_record, data_fingerprint="e" * 64),
        Kind.changed,
        "RUN: its corpus has the fingerprint eeeeeeeeeeee, that of the study ffffffffffff",
    ),
    "early": (partial(change_record, started=EARLY), Kind.early, "begun before the plan was frozen: RUN"),
    "repeated": (partial(change_record, repeats=2), Kind.repeated, "RUN: trained anew 2 times after it had finished"),
    "code": (
        partial(change_record, commit=OTHER_COMMIT),
        Kind.code,
        "commit bbbbbbbbbbbb: RUN; the plan was frozen by commit aaaaaaaaaaaa",
    ),
    "uncommitted": (
        partial(change_record, dirty=True, patch="c" * 12),
        Kind.code,
        "commit aaaaaaaaaaaa with uncommitted changes cccccccccccc: RUN; ",
    ),
    "attempt": (
        lambda run: change_record(run, earlier=[replace(read_record(run / "run.json").origin, commit=OTHER_COMMIT)]),
        Kind.code,
        "commit bbbbbbbbbbbb: RUN; ",
    ),
    "precision": (
        partial(change_record, precision="bf16-mixed"),
        Kind.precision,
        "bf16-mixed: RUN; most runs trained in 32-true",
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_run_unlike_the_plan_is_named_and_not_in_the_analysis_if_its_result_is_another_one(
    made: Made, change: str
) -> None:
    run, (make, kind, text) = made.mine[0], CHANGES[change]
    make(run)
    (found,) = made.deviations(kind)
    assert found.startswith(text.replace("RUN", name(run)))
    assert made.read().measured.seeds("mine") == (4 if kind is Kind.changed else 5)


def test_runs_that_the_plan_does_not_have_are_named_and_not_counted(made: Made, make_run: MakeRun) -> None:
    make_run("base", seed=9, nll=5.0, started=LATE, **ORIGIN)
    make_run("d_ls02", seed=9, started=LATE, **ORIGIN)
    assert made.deviations(Kind.added) == ["base, seed 9: not in the plan, and not in the analysis"]
    assert made.read().measured.seeds("base") == 5


def test_other_rules_than_those_of_the_plan_are_named(made: Made) -> None:
    without = {key: value for key, value in ANALYSIS.items() if key != "variance_bound"}
    change_plan(made.folder, analysis={**without, "one_sided_level": 0.2, "old": 1})
    assert set(made.deviations(Kind.analysis)) == {
        f"one_sided_level is {ANALYSIS['one_sided_level']} in this code, planned 0.2",
        f"variance_bound is {ANALYSIS['variance_bound']} in this code, planned not stated",
        "old is not stated in this code, planned 1",
    }


def test_other_packages_and_machines_are_a_line_each(made: Made) -> None:
    old = {"versions": {"torch": "1", "python": "3.13", "aiayn": "1"}, "hardware": {"processor": "AMD", "threads": 2}}
    for run in (*made.base, *made.mine):
        change_record(run, **old)
    for run in made.mine[:2]:
        change_record(run, versions={"torch": "2", "python": "3.13", "aiayn": "2"}, hardware={"gpus": ["H100"]})
    found = deviations_of(made.read())
    assert [(each.kind, each.text) for each in found] == [
        (Kind.packages, "2 runs with torch 2, most runs with 1"),
        (Kind.hardware, "2 runs with machine H100, most runs with AMD"),
    ]


def test_pilots_of_another_study_with_a_rows_settings_are_named(made: Made, make_run: MakeRun) -> None:
    run = make_run("base", seed=9, nll=5.0, started=LATE, **ORIGIN)
    (made.folder / "registrations/junk.pilots").write_text(f"{name(run)}\n")
    assert made.deviations(Kind.added) == ["base, seed 9: not in the plan, and not in the analysis"]


def test_reports_say_how_many_pilots_they_leave_out(made: Made) -> None:
    assert list(pilots_left_out(made.folder)) == ["3 finished pilots of study pilots left out"]
    remove(made.pilots[0])
    remove(made.pilots[1])
    assert list(pilots_left_out(made.folder)) == ["1 finished pilot of study pilots left out"]
    only = OnlyComparedConfig(**dict.fromkeys(("scale", "data", "like", "sweep", "experiment")))
    remarks = document(compare(made.folder, only)).remarks
    assert "1 finished pilot of study pilots left out" in remarks
    remove(made.pilots[2])
    assert list(pilots_left_out(made.folder)) == []


def test_pilots_are_in_the_reports_of_their_own_study_alone(
    made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert seeds_in_table3([])["base"] == seeds_in_table3(["study=study"])["base"] == [1, 2, 3, 4, 5]
    assert seeds_in_table3(["study=pilots"]) == {"base": [1001, 1002, 1003]}
    assert main(["report", "hypotheses", "study=pilots", "output=pilots.json"]) == 0
    content = json.loads(Path("pilots.json").read_text())
    assert content["rows"]["base"]["seeds"] == {"planned": [1001, 1002, 1003], "in": [1001, 1002, 1003]}
    assert (content["claims"], content["deviations"], content["is_complete"]) == ([], [], True)


def test_pilots_tell_how_seeds_vary_at_every_budget(made: Made) -> None:
    for run in made.pilots:
        seed = read_record(run / "run.json").seed % 7
        curve = {step: math.exp(2 + (0.1 if step <= 500 else 0.01) * seed) for step in range(100, 1100, 100)}
        lines = (json.dumps({"step": step, "val/ppl": ppl}) for step, ppl in curve.items())
        (run / "metrics.jsonl").write_text("".join(f"{line}\n" for line in lines))
    plan = made.read().registration.plan
    found = Evidence.read(made.folder, replace(plan, terms=replace(plan.terms, steps=(500,))))
    noises = [found.measured[steps].by(Metric.ppl).noise for steps in (500, None)]
    assert [0.0 if each is None else each.deviation for each in noises] == pytest.approx([0.1, 0.01])


@pytest.mark.parametrize("source", ["nowhere", ".", "a-file"])
def test_power_from_neither_a_study_nor_a_publication_is_refused_in_one_line(
    made: Made, source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a-file").touch()
    plan = replace(made.read().registration.plan, terms=StudyTerms(power_from=source))
    with pytest.raises(UserError, match=rf"^hydra\.sweeper\.power_from={source}: n") as refused:
        Evidence.read(made.folder, plan)
    assert ("(there are: pilots, study), nor the folder of a publi" in str(refused.value)) == (source == "nowhere")
    assert "\n" not in str(refused.value)


def test_a_name_is_that_of_a_study_before_that_of_a_folder(
    made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A publication of the study, in a folder of the pilots' name, has the pilots too and tells of the study alone."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert main(["report", "hypotheses", "study=study", "publish=pilots"]) == 0
    plan = made.read().registration.plan
    rows = {}
    for source in ("pilots", "~/pilots"):
        found = Evidence.read(made.folder, replace(plan, terms=StudyTerms(power_from=source))).measured[None]
        rows[source] = {row: found.seeds(row) for row in found.places}
    assert rows == {"pilots": {"base": 3}, "~/pilots": {"base": 5, "mine": 5}}


def test_looks_are_listed_and_no_deviation_if_the_plan_allows_them(made: Made) -> None:
    record_look(made.folder, "study", 3)
    (text,) = made.deviations(Kind.look)
    assert text.endswith("with 3 of 10 runs")
    change_plan(made.folder, looks=True)
    assert made.deviations(Kind.look) == []
    (plan,) = (grid for grid in hypotheses_document(made.read()).grids if grid.title == "The plan")
    assert ("looks", "allowed; 1 recorded") in plan.groups[0]


@pytest.mark.parametrize("noun", ["hypotheses", "table3"])
def test_an_unfinished_study_with_deviations_is_made_again_from_its_publication(
    noun: str, made: Made, make_run: MakeRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    remove(made.base[3])
    change_config(made.mine[0], lambda content: content.update(seed=7))
    change_record(made.mine[1], status=Status.failed)
    make_run("base", seed=9, nll=2.0, started=LATE, **ORIGIN)
    words = ["report", noun, *(["study=study"] if noun == "hypotheses" else [])]
    assert main([*words, "publish=published"]) == 0
    page = (tmp_path / "published" / "README.md").read_text(encoding="utf-8")
    shutil.rmtree(made.folder)
    for _ in range(2):
        assert main([*words, "from=published", "output=again.md"]) == 0, "published data records no look"
        assert (tmp_path / "again.md").read_text(encoding="utf-8") == page
    for text in ("seed 9: not in the plan", "seed is 7, planned 1", "not begun", "with 7 of 10 runs"):
        assert text in page
    assert noun == "table3" or "seed 2: failed" in page


@pytest.fixture
def longer(made: Made, make_run: MakeRun) -> Made:
    """The study with a third row: base, trained for more steps."""
    runs = [make_run("base", "optimization.max_steps=5000", seed=seed, started=LATE, **ORIGIN) for seed in (7, 8)]
    plan = read_registration(made.folder, "study").plan
    rows = {**plan.rows, "base_long": PlannedRow(("base",), settings(runs[0]), by_seed(runs))}
    change_plan(made.folder, rows=rows)
    return made


def seeds_in_table3(words: Sequence[str]) -> dict[str, list[int]]:
    assert main(["report", "table3", *words, "output=table3.json"]) == 0
    rows = json.loads(Path("table3.json").read_text())["rows"]
    return {row["row"]: row["seeds"] for row in rows if row["seeds"]}


def test_the_table_of_a_study_has_its_runs_of_the_tables_rows_alone(
    longer: Made, make_run: MakeRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    make_run("base", seed=9, nll=5.0, started=LATE, **ORIGIN)
    make_run("a_h1", data_fingerprint="e" * 64)
    assert main(["report", "table3"]) == 2, "longer training and another corpus"
    capsys.readouterr()
    assert seeds_in_table3(["study=study"]) == {"base": [1, 2, 3, 4, 5]}


def test_a_publication_is_about_its_study_and_says_nothing_of_others(
    longer: Made, make_run: MakeRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    make_run("a_h1", data_fingerprint="e" * 64)
    (longer.folder / "registrations/other.pilots").write_text(f"{name(make_run('d_drop0', seed=77))}\n")
    assert main(["report", "hypotheses", "study=study", "publish=published"]) == 0
    assert main(["report", "table3", "study=study", "publish=table"]) == 0
    pages = [(tmp_path / folder / "README.md").read_text(encoding="utf-8") for folder in ("published", "table")]
    shutil.rmtree(longer.folder)
    for folder in ("published", "table"):
        for noun, page in zip(("hypotheses", "table3"), pages, strict=True):
            assert main(["report", noun, f"from={folder}", "output=again.md"]) == 0
            assert (tmp_path / "again.md").read_text(encoding="utf-8") == page
    assert all("12 planned runs" in page and "study other" not in page for page in pages)


def test_a_table_without_runs_of_its_study_is_refused(
    made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    change_config(made.base[0], lambda content: content["model"].update(dropout=0.7))
    assert main(["report", "table3", f"only.like={made.base[1]}"]) == 0, "no longer a run of the study"
    plan = read_registration(made.folder, "study").plan
    rows = {**plan.rows, "base": replace(plan.rows["base"], settings=settings(made.base[0]))}
    change_plan(made.folder, rows=rows)
    capsys.readouterr()
    assert main(["report", "table3", f"only.like={made.base[1]}"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line == ("aiayn: 1 of 1 finished runs of study study are not among the chosen runs; state study=study alone")


def test_the_study_of_some_runs_is_found(made: Made, make_run: MakeRun) -> None:
    study = registration_of([made.base[0], make_run("d_ls02")], made.folder)
    assert study is not None
    assert study.name == "study"
    assert registration_of([make_run("d_ls02")], made.folder) is None


def test_the_plan_is_in_the_remarks_with_its_hash_and_deviations(made: Made) -> None:
    remove(made.base[3])
    plan, *deviations = plan_remarks(made.read())
    sha256 = json.loads((made.folder / "registrations/study.json").read_text())["sha256"]
    assert sha256[:12] in plan
    assert FROZEN in plan
    assert "9 of 10 planned runs in" in plan
    assert deviations == ["deviation from the plan (missing): base, seed 4: not begun"]


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"noises": {"ppl": {"seeds": 1.0}}}, "noises: "),
        ({"powers": {"helps": "large"}}, "powers: "),
        ({"effects": [1.0]}, "effects: "),
        ({"plan": {"base": [1]}}, r"not a frozen plan of this version \(base is "),
        ({"plan": {"claims": [1]}}, r"not a frozen plan of this version \(claims is "),
        ({"plan": {"analysis": [1]}}, r"not a frozen plan of this version \(analysis is "),
    ],
)
def test_a_frozen_plan_of_another_form_is_refused_in_one_line(
    made: Made, change: dict[str, Any], complaint: str
) -> None:
    path = registration_file(made.folder, "study")
    content = json.loads(path.read_text())
    change = {key: {**content["plan"], **value} if key == "plan" else value for key, value in change.items()}
    path.write_text(json.dumps(content | change))
    with pytest.raises(UserError, match=rf"study\.json: {complaint}") as refused:
        made.read()
    assert "\n" not in str(refused.value)


def test_further_budgets_are_shown_beside_and_say_what_holds_there_only(made: Made) -> None:
    """After 800 steps "mine" is behind, and base's claim holds there alone."""
    for run in made.mine:
        seed = read_record(run / "run.json").seed
        curve = {700: 9.0, 800: 9.0, 900: 6.0, 1000: 6.0, 1100: 6.0}
        lines = (json.dumps({"step": step, "val/ppl": ppl + 0.01 * seed}) for step, ppl in curve.items())
        (run / "metrics.jsonl").write_text("".join(f"{line}\n" for line in lines))
    change_plan(made.folder, terms=StudyTerms(steps=(800,)))
    study = made.read()
    assert [claim.verdict for claim in study.claims] == [Verdict.reproduced, Verdict.contradicted]
    assert [claim.verdict for claim in study.claims_at(800)] == [Verdict.contradicted, Verdict.reproduced]
    written = hypotheses_document(study)
    assert "Claims of the study and their verdicts after 800 steps only" in [grid.title for grid in written.grids]
    assert "hurts: at 800 steps only" in written.remarks


def test_machines_with_a_processor_of_the_plan_are_no_deviation(made: Made) -> None:
    for runs, processor in ((made.base, "AMD EPYC 9B14"), (made.mine, "Intel Xeon")):
        for run in runs:
            change_record(run, hardware={"processor": processor, "threads": 1})
    assert made.deviations(Kind.hardware)
    change_plan(made.folder, terms=StudyTerms(processors=("AMD EPYC",), power_from="pilots"))
    assert made.deviations(Kind.hardware) == []


def test_claims_of_another_form_are_refused_in_one_line(made: Made) -> None:
    change_plan(made.folder, claims={"helps": {"primary": 3}})
    with pytest.raises(UserError, match=r"study\.json: claims are not of this version"):
        _ = made.read().claims


@pytest.mark.parametrize("rules", [None, [], {}, "two", 99])
def test_a_plan_of_other_rules_has_no_verdicts_and_names_the_commit_that_has(made: Made, rules: Any) -> None:
    """The first rules stated no version."""
    change_plan(made.folder, analysis={**ANALYSIS, "rules": rules} if rules is not None else {})
    study = made.read()
    assert study.claims == ()
    assert deviations_of(study) == ()
    assert study.last_of_rules == (LAST_OF_RULES[1] if rules is None else "a" * 40)
    assert f"commit {study.last_of_rules} judges its claims" in study.rules_remark
