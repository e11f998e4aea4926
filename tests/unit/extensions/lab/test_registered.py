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
from frozen_plans import freeze, planned_row
from omegaconf import OmegaConf

from aiayn.commands.front_end import main
from aiayn.config.report_schema import OnlyComparedConfig
from aiayn.errors import UserError
from aiayn.extensions.lab.deviations import Kind, deviations_of, plan_remarks
from aiayn.extensions.lab.hypotheses import document as hypotheses_document
from aiayn.extensions.lab.power import Evidence
from aiayn.extensions.lab.registered import ANALYSIS, LAST_OF_RULES, RegisteredStudy, read_registered, registration_of
from aiayn.extensions.lab.registrations import StudyTerms, read_registration, record_look, registration_file
from aiayn.reports.comparison import compare
from aiayn.reports.comparison_grids import document
from aiayn.reports.verdicts import Verdict
from aiayn.runs.ledger import pilots_left_out
from aiayn.runs.provenance import Code
from aiayn.runs.record import Status, read_record

MakeRun = Callable[..., Path]

EARLY, FROZEN, LATE = (f"2026-01-0{day}T00:00:00+00:00" for day in (1, 2, 3))
FACTS = {"commit": "a" * 40, "dirty": False, "patch": None, "precision": "32-true", "tf32": False, "started": LATE}


@dataclass
class Made:
    """A study of two rows, "study", that of the pilots of base that told its power, "pilots", and the runs of both."""

    folder: Path
    make_run: MakeRun

    def read(self, study: str = "study") -> RegisteredStudy:
        return read_registered(self.folder, study)

    def runs(self, row: str, study: str = "study") -> list[Path]:
        return [self.folder / name for name in read_registration(self.folder, study).plan.rows[row].runs.values()]

    def deviations(self, study: str = "study") -> list[tuple[Kind, str]]:
        return [(each.kind, each.text) for each in deviations_of(self.read(study))]

    def change_plan(self, **fields: Any) -> None:
        """Write the plan with other content, as if it had been frozen so."""
        registration = read_registration(self.folder, "study")
        registration_file(self.folder, "study").unlink()
        replace(registration, plan=replace(registration.plan, **fields)).write(self.folder)

    def write_pilots(self, study: str, run: Path) -> None:
        """As a study of earlier rules names its pilots."""
        (self.folder / f"registrations/{study}.pilots").write_text(f"{run.relative_to(self.folder)}\n")


@pytest.fixture
def made(tmp_path: Path, frozen: Path, make_run: MakeRun, monkeypatch: pytest.MonkeyPatch) -> Made:
    """A copy of the studies in the folder "runs" of the present one, which a test may change."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(frozen, tmp_path / "runs")
    return Made(tmp_path / "runs", partial(make_run, **FACTS))


@pytest.fixture(scope="module")
def frozen(tmp_path_factory: pytest.TempPathFactory, make_run_in: MakeRun) -> Path:
    folder = tmp_path_factory.mktemp("study") / "runs"

    def runs(row: str, seeds: range, nll: float, started: str = LATE) -> dict[int, Path]:
        values = {seed: nll + 0.001 * (seed % 7) for seed in seeds}
        curves = {seed: dict.fromkeys((800, 900, 1000), math.exp(of)) for seed, of in values.items()}
        facts = {**FACTS, "started": started}
        return {
            seed: make_run_in(folder, row, seed=seed, nll=values[seed], curve=curves[seed], **facts) for seed in seeds
        }

    claims = {
        claim: {"id": claim, "statement": claim, "primary": [{"better": better, "worse": worse, "effect": 0.05}]}
        for claim, better, worse in (("helps", "mine", "base"), ("hurts", "base", "mine"))
    }
    rows = {"base": runs("base", range(1, 6), 2.0), "mine": runs("d_ls0", range(1, 6), 1.9)}
    pilots = {"base": runs("base", range(1001, 1004), 2.0, EARLY)}
    code, powers = Code("a" * 40, dirty=False, patch=None), {"helps": 0.4, "hurts": 0.9}
    terms = StudyTerms(power_from="pilots")
    freeze(rows, folder, name="study", claims=claims, terms=terms, time=FROZEN, code=code, powers=powers)
    freeze(pilots, folder, name="pilots", claims={}, time=EARLY, code=code)
    return folder


def change_record(run: Path, **fields: Any) -> None:
    replace(read_record(run / "run.json"), **fields).write(run / "run.json")


def change_config(run: Path, key: str, value: object) -> None:
    content = OmegaConf.load(run / "config.yaml")
    OmegaConf.update(content, key, value)
    OmegaConf.save(content, run / "config.yaml")


def remove(run: Path) -> None:
    (run / "run.json").unlink()


def test_a_study_that_was_run_as_planned_has_verdicts_and_no_deviation(made: Made) -> None:
    study = made.read()
    assert study.is_complete
    assert made.deviations() == []
    assert [claim.verdict for claim in study.claims] == [Verdict.reproduced, Verdict.contradicted]
    assert [claim.power for claim in study.claims] == [0.4, 0.9], "as frozen"
    assert {row: study.measured.seeds(row) for row in ("base", "mine")} == {"base": 5, "mine": 5}
    assert "deviations from the plan: none" in list(plan_remarks(study))


def test_no_claim_is_tested_before_its_runs_are_in(made: Made) -> None:
    for run in made.runs("mine")[:3:2]:
        remove(run)
    study = made.read()
    assert {claim.verdict for claim in study.claims} == {Verdict.not_tested}
    assert {claim.reason for claim in study.claims} == {"2 planned runs not in: 2 of mine"}
    plan, *deviations = plan_remarks(study)
    assert all(text in plan for text in (study.registration.sha256[:12], FROZEN, "8 of 10 planned runs in"))
    assert deviations == ["deviation from the plan (missing): mine, seeds 1, 3: not begun"]


def config(key: str, value: object) -> Callable[[Made], None]:
    return lambda made: change_config(made.runs("mine")[0], key, value)


def record(**fields: Any) -> Callable[[Made], None]:
    return lambda made: change_record(made.runs("mine")[0], **fields)


def resume_from_other_code(made: Made) -> None:
    run = made.runs("mine")[0]
    change_record(run, earlier=[replace(read_record(run / "run.json").origin, commit="b" * 40)])


def change_two(most: dict[str, Any], two: dict[str, Any], **terms: Any) -> Callable[[Made], None]:
    """Facts of two runs and of the others, and terms of the plan."""

    def change(made: Made) -> None:
        first, second, *others = (*made.runs("mine"), *made.runs("base"))
        for run in (first, second, *others):
            change_record(run, **(two if run in (first, second) else most))
        made.change_plan(terms=StudyTerms(power_from="pilots", **terms))

    return change


def change_rules(made: Made) -> None:
    without = {key: value for key, value in ANALYSIS.items() if key != "variance_bound"}
    made.change_plan(analysis={**without, "one_sided_level": 0.2, "old": 1})


def add_runs(made: Made) -> None:
    """Of four, one has no row's settings, one is a pilot, and one is planned by another study with claims."""
    made.make_run("d_ls02", seed=9)
    made.make_run("base", seed=9)
    made.write_pilots("junk", made.make_run("base", seed=10))
    freeze({"base": {11: made.make_run("base", seed=11)}}, made.folder, name="other")
    made.change_plan(terms=StudyTerms(power_from="other"))


AMD, H100 = {"hardware": {"processor": "AMD", "threads": 2}}, {"hardware": {"gpus": ["H100"]}}
OLD, NEW = ({"versions": {"torch": version, "python": "3.13", "aiayn": version}} for version in ("1", "2"))
PLANNED_CODE = "the plan was frozen by commit aaaaaaaaaaaa"
OTHER_CORPUS = "RUN: its corpus has the fingerprint eeeeeeeeeeee, that of the study ffffffffffff"
OTHER_RULES = (
    f"one_sided_level is {ANALYSIS['one_sided_level']} in this code, planned 0.2",
    "old is not stated in this code, planned 1",
    f"variance_bound is {ANALYSIS['variance_bound']} in this code, planned not stated",
)
CHANGES: dict[str, tuple[Callable[[Made], None], Kind, Sequence[str]]] = {
    "configuration": (config("model.d_ff", 7), Kind.changed, ["RUN: model.d_ff is 7, planned 512"]),
    "seed": (config("seed", 7), Kind.changed, ["RUN: seed is 7, planned 1"]),
    "corpus": (record(data_fingerprint="e" * 64), Kind.changed, [OTHER_CORPUS]),
    "added": (add_runs, Kind.added, ["base, seeds 9, 11: not in the plan, and not in the analysis"]),
    "early": (record(started=EARLY), Kind.early, ["begun before the plan was frozen: RUN"]),
    "repeated": (record(repeats=2), Kind.repeated, ["RUN: trained anew 2 times after it had finished"]),
    "analysis": (change_rules, Kind.analysis, OTHER_RULES),
    "code": (record(commit="b" * 40), Kind.code, [f"commit bbbbbbbbbbbb: RUN; {PLANNED_CODE}"]),
    "dirty": (record(dirty=True), Kind.code, [f"commit aaaaaaaaaaaa with uncommitted changes: RUN; {PLANNED_CODE}"]),
    "attempt": (resume_from_other_code, Kind.code, [f"commit bbbbbbbbbbbb: RUN; {PLANNED_CODE}"]),
    "precision": (record(precision="bf16-mixed"), Kind.precision, ["bf16-mixed: RUN; most runs trained in 32-true"]),
    "packages": (change_two(OLD, NEW), Kind.packages, ["2 runs with torch 2, most runs with 1"]),
    "hardware": (change_two(AMD, H100), Kind.hardware, ["2 runs with machine H100, most runs with AMD"]),
    "processors": (change_two(AMD, H100, processors=("AMD",)), Kind.hardware, []),
}


@pytest.mark.parametrize(("change", "kind", "texts"), CHANGES.values(), ids=CHANGES)
def test_what_is_unlike_the_plan_is_named_and_a_run_with_another_result_is_not_in_the_analysis(
    made: Made, change: Callable[[Made], None], kind: Kind, texts: Sequence[str]
) -> None:
    change(made)
    run = made.runs("mine")[0].relative_to(made.folder)
    assert made.deviations() == [(kind, text.replace("RUN", f"{run}")) for text in texts]
    measured = made.read().measured
    assert (measured.seeds("base"), measured.seeds("mine")) == (5, 4 if kind is Kind.changed else 5)
    assert made.deviations("pilots") == []


def test_pilots_are_in_the_reports_of_their_own_study_alone_and_others_say_how_many_they_leave_out(made: Made) -> None:
    assert seeds_in_table3([])["base"] == seeds_in_table3(["study=study"])["base"] == [1, 2, 3, 4, 5]
    assert seeds_in_table3(["study=pilots"]) == {"base": [1001, 1002, 1003]}
    assert main(["report", "hypotheses", "study=pilots", "output=pilots.json"]) == 0
    content = json.loads(Path("pilots.json").read_text())
    assert content["rows"]["base"]["seeds"] == {"planned": [1001, 1002, 1003], "in": [1001, 1002, 1003]}
    assert (content["claims"], content["deviations"], content["is_complete"]) == ([], [], True)
    assert list(pilots_left_out(made.folder)) == ["3 finished pilots of study pilots left out"]
    first, *others = made.runs("base", "pilots")
    for run in others:
        remove(run)
    only = OnlyComparedConfig(**dict.fromkeys(("scale", "data", "like", "sweep", "experiment")))
    assert "1 finished pilot of study pilots left out" in document(compare(made.folder, only)).remarks
    remove(first)
    assert list(pilots_left_out(made.folder)) == []


def test_a_name_is_that_of_a_study_before_that_of_a_folder(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    """A publication of the study, in a folder of the pilots' name, has the pilots too and tells of the study alone."""
    monkeypatch.setenv("HOME", str(made.folder.parent))
    assert main(["report", "hypotheses", "study=study", "publish=pilots"]) == 0
    plan = made.read().registration.plan
    rows = {}
    for source in ("pilots", "~/pilots"):
        found = Evidence.read(made.folder, replace(plan, terms=StudyTerms(power_from=source))).measured[None]
        rows[source] = {row: found.seeds(row) for row in found.places}
    assert rows == {"pilots": {"base": 3}, "~/pilots": {"base": 5, "mine": 5}}


def test_looks_are_listed_and_no_deviation_if_the_plan_allows_them(made: Made) -> None:
    record_look(made.folder, "study", 3)
    ((kind, text),) = made.deviations()
    assert (kind, text.partition(", ")[2]) == (Kind.look, "with 3 of 10 runs")
    made.change_plan(looks=True)
    assert made.deviations() == []
    (plan,) = (grid for grid in hypotheses_document(made.read()).grids if grid.title == "The plan")
    assert ("looks", "allowed; 1 recorded") in plan.groups[0]


@pytest.mark.parametrize("noun", ["hypotheses", "table3"])
def test_an_unfinished_study_with_deviations_is_made_again_from_its_publication(noun: str, made: Made) -> None:
    remove(made.runs("base")[3])
    first, second, *_ = made.runs("mine")
    change_config(first, "seed", 7)
    change_record(second, status=Status.failed)
    made.make_run("base", seed=9)
    words = ["report", noun, *(["study=study"] if noun == "hypotheses" else [])]
    assert main([*words, "publish=published"]) == 0
    page = Path("published/README.md").read_text(encoding="utf-8")
    shutil.rmtree(made.folder)
    for _ in range(2):
        assert main([*words, "from=published", "output=again.md"]) == 0, "published data records no look"
        assert Path("again.md").read_text(encoding="utf-8") == page
    for text in ("seed 9: not in the plan", "seed is 7, planned 1", "not begun", "with 7 of 10 runs"):
        assert text in page
    assert noun == "table3" or "seed 2: failed" in page


@pytest.fixture
def longer(made: Made) -> Made:
    """The study with a third row: base, trained for more steps. Beside it there is a run on another corpus."""
    runs = {seed: made.make_run("base", "optimization.max_steps=5000", seed=seed) for seed in (7, 8)}
    rows = made.read().registration.plan.rows
    made.change_plan(rows={**rows, "base_long": planned_row("base", runs, made.folder)})
    made.make_run("a_h1", data_fingerprint="e" * 64)
    return made


def seeds_in_table3(words: Sequence[str]) -> dict[str, list[int]]:
    assert main(["report", "table3", *words, "output=table3.json"]) == 0
    rows = json.loads(Path("table3.json").read_text())["rows"]
    return {row["row"]: row["seeds"] for row in rows if row["seeds"]}


def test_the_table_of_a_study_has_its_runs_of_the_tables_rows_alone(longer: Made) -> None:
    longer.make_run("base", seed=9)
    assert main(["report", "table3"]) == 2, "longer training and another corpus"
    assert seeds_in_table3(["study=study"]) == {"base": [1, 2, 3, 4, 5]}


def test_a_publication_is_about_its_study_and_says_nothing_of_others(longer: Made) -> None:
    longer.write_pilots("other", longer.make_run("d_drop0", seed=77))
    pages = {}
    for noun in ("hypotheses", "table3"):
        assert main(["report", noun, "study=study", f"publish={noun}"]) == 0
        pages[noun] = Path(noun, "README.md").read_text(encoding="utf-8")
    shutil.rmtree(longer.folder)
    for folder in pages:
        for noun, page in pages.items():
            assert main(["report", noun, f"from={folder}", "output=again.md"]) == 0
            assert Path("again.md").read_text(encoding="utf-8") == page
    assert all("12 planned runs" in page and "study other" not in page for page in pages.values())


def test_a_table_without_runs_of_its_study_is_refused(made: Made, capsys: pytest.CaptureFixture[str]) -> None:
    first, second, *_ = made.runs("base")
    change_config(first, "model.dropout", 0.7)
    words = ["report", "table3", f"only.like={second}"]
    assert main(words) == 0, "no longer a run of the study"
    rows = made.read().registration.plan.rows
    settings = planned_row("base", {1: first}, made.folder).settings
    made.change_plan(rows={**rows, "base": replace(rows["base"], settings=settings)})
    capsys.readouterr()
    assert main(words) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line == ("aiayn: 1 of 1 finished runs of study study are not among the chosen runs; state study=study alone")


def test_the_study_of_some_runs_is_found(made: Made) -> None:
    other = made.make_run("d_ls02")
    found = [registration_of(runs, made.folder) for runs in ([made.runs("base")[0], other], [other])]
    assert [study and study.name for study in found] == ["study", None]


@pytest.mark.parametrize(
    ("key", "value", "complaint"),
    [
        ("noises", {"ppl": {"seeds": 1.0}}, "noises: "),
        ("powers", {"helps": "large"}, "powers: "),
        ("effects", [1.0], "effects: "),
        *((key, [1], rf"not a frozen plan of this version \({key} is ") for key in ("base", "claims", "analysis")),
    ],
)
def test_a_frozen_plan_of_another_form_is_refused_in_one_line(made: Made, key: str, value: Any, complaint: str) -> None:
    path = registration_file(made.folder, "study")
    content = json.loads(path.read_text())
    (content["plan"] if key in content["plan"] else content)[key] = value
    path.write_text(json.dumps(content))
    with pytest.raises(UserError, match=rf"study\.json: {complaint}[^\n]*\Z"):
        made.read()


def test_claims_of_another_form_are_refused_in_one_line(made: Made) -> None:
    made.change_plan(claims={"helps": {"primary": 3}})
    with pytest.raises(UserError, match=r"study\.json: claims are not of this version[^\n]*\Z"):
        _ = made.read().claims


def test_further_budgets_are_shown_beside_and_say_what_holds_there_only(made: Made) -> None:
    """After 800 steps "mine" is behind, and base's claim holds there alone."""
    for seed, run in enumerate(made.runs("mine"), 1):
        curve = {700: 9.0, 800: 9.0, 900: 6.0, 1000: 6.0, 1100: 6.0}
        lines = (json.dumps({"step": step, "val/ppl": ppl + 0.01 * seed}) for step, ppl in curve.items())
        (run / "metrics.jsonl").write_text("".join(f"{line}\n" for line in lines))
    made.change_plan(terms=StudyTerms(steps=(800,)))
    study = made.read()
    assert [claim.verdict for claim in study.claims] == [Verdict.reproduced, Verdict.contradicted]
    assert [claim.verdict for claim in study.claims_at(800)] == [Verdict.contradicted, Verdict.reproduced]
    written = hypotheses_document(study)
    assert "Claims of the study and their verdicts after 800 steps only" in [grid.title for grid in written.grids]
    assert "hurts: at 800 steps only" in written.remarks


@pytest.mark.parametrize("rules", [None, [], {}, "two", 99])
def test_a_plan_of_other_rules_has_no_verdicts_and_names_the_commit_that_has(made: Made, rules: Any) -> None:
    """The first rules stated no version."""
    made.change_plan(analysis={**ANALYSIS, "rules": rules} if rules is not None else {})
    study = made.read()
    assert study.claims == ()
    assert made.deviations() == []
    assert study.last_of_rules == (LAST_OF_RULES[1] if rules is None else "a" * 40)
    assert f"commit {study.last_of_rules} judges its claims" in study.rules_remark
