"""A pre-registered study, from the study of its pilots to the report of its hypotheses."""

import json
import shlex
import shutil
import tarfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from commands import CommandLine, Say
from json_documents import read_document
from omegaconf import OmegaConf
from run_files import runs_below
from studies import PILOTS, STUDY
from tiny import TINY

from aiayn.commands.front_end import main
from aiayn.extensions.lab.registrations import read_registration
from aiayn.runs.record import read_record

pytestmark = pytest.mark.long

SHORT = ("optimization.max_steps=2", "optimization.validation_interval=1", "optimization.checkpoint_interval=2")
OWN_WORDS = ("--config-dir", "my_conf", "sweeps=mine", *SHORT)
WORDS = (*OWN_WORDS, *TINY, "logger=none")
PILOT_WORDS = [word.replace("sweeps=mine", "sweeps=pilots") for word in WORDS]
FREEZE, RUNS = "hydra.sweeper.stage=freeze", "hydra.sweeper.stage=runs"
ONE_HEAD, SMOOTHING = (f"hydra.sweeper.claims=[{{paper: {name}}}]" for name in ("one_head", "label_smoothing"))
TOLD = STUDY.replace("    looks: false\n", "    looks: false\n    power_from: pilots\n")
"""The study with the power that the pilots tell."""


def write_study(folder: Path, text: str = STUDY) -> None:
    (folder / "my_conf/sweeps").mkdir(parents=True, exist_ok=True)
    (folder / "my_conf/sweeps/mine.yaml").write_text(text)
    (folder / "my_conf/sweeps/pilots.yaml").write_text(PILOTS)


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files of both studies, their frozen plans and runs; tests only read or copy it."""
    folder = tmp_path_factory.mktemp("study")
    write_study(folder, TOLD)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert main(["train", *PILOT_WORDS, RUNS]) == 0
        assert len(runs_below(folder / "runs")) == 2
        assert main(["train", *WORDS, RUNS]) == 0
    return folder


@pytest.fixture
def copied(study: Path, tmp_path: Path) -> Path:
    """A copy of the study, in which commands run."""
    shutil.copytree(study, tmp_path, dirs_exist_ok=True)
    return tmp_path


def names(folder: Path) -> set[str]:
    return {str(path.relative_to(folder / "runs")) for path in runs_below(folder / "runs")}


def test_a_study_is_reported_as_it_was_planned(copied: Path, say: Say) -> None:
    said = say("report", "hypotheses", "study=mine", "output=report.json")
    assert (said.code, said.out) == (0, "report.json\n"), said.err
    content = json.loads(Path("report.json").read_text())
    assert content["is_complete"]
    assert content["deviations"] == []
    seeds = {row: found["seeds"] for row, found in content["rows"].items()}
    assert seeds == {"base": {"planned": [1, 2], "in": [1, 2]}, "rotary": {"planned": [1], "in": [1]}}
    (claim,) = content["claims"]
    assert (claim["verdict"], claim["reason"]) == (
        "not tested",
        "at least 5 seeds of each row are needed: rotary has 1, base has 2",
    )
    registration = read_registration(copied / "runs", "mine")
    assert claim["power"] == registration.powers["helps"]
    assert registration.noises is not None
    assert names(copied) == {*registration.plan.runs, *read_registration(copied / "runs", "pilots").plan.runs}
    said = say("report", "hypotheses", "study=mine")
    assert said.out.startswith("All 3 planned runs are in; 0 deviations from the plan.\n")
    assert registration.sha256 in said.out
    assert read_document(say("report", "hypotheses", "study=mine", "format=json").out) == content
    assert not (copied / "runs/registrations/mine.looks").exists(), "no look before the end"
    assert say("report", "hypotheses").refuses_by("study has no value: state the name of a study")


def test_a_published_study_names_no_folder_of_its_machine(copied: Path, say: Say) -> None:
    assert say("report", "hypotheses", "study=mine", "publish=published").code == 0
    assert "my_conf" not in Path("published/README.md").read_text(), "commands without folders of their machine"
    with tarfile.open("published/runs.tar.xz") as archive:
        texts = [archive.extractfile(entry).read().decode() for entry in archive]  # type: ignore[union-attr]
    assert not any(str(copied) in text or "my_conf" in text for text in texts), "the frozen plan among them"
    said = say("report", "hypotheses", "from=published", "study=ours")
    complaint = "aiayn: from=published: study=ours: not in this publication; it has mine, pilots\n"
    assert (said.code, said.err) == (2, complaint)


def test_a_plan_says_its_power_what_cannot_be_tested_and_whether_the_file_still_states_what_is_frozen(
    copied: Path, say: Say
) -> None:
    frozen = read_registration(copied / "runs", "mine")
    power = frozen.powers["helps"]
    assert power is not None
    begin = f"\nfrozen {frozen.time} by {frozen.code.text}, sha256 {frozen.sha256[:12]}, with power helps {power:.0%}; "
    said = say("plan", *WORDS)
    assert f"{begin}sweeps=mine still states this plan\n" in said.out, said.err
    assert "3 runs" in said.out
    assert "Power by budget" in said.out
    assert "\nstandard deviation between seeds: " in said.out
    assert "\nhelps will not be tested: it needs 5 seeds of each row, rotary has 1, base has 2\n" in said.out
    for word, change in {
        "hydra.sweeper.seeds.others=2": "rows.rotary.seeds is [1] in the {}, and [1, 2] now",
        "hydra.sweeper.power_from=null": "terms.power_from is pilots in the {}, and None now",
    }.items():
        planned, refused = say("plan", *WORDS, word), say("train", *WORDS, word, RUNS)
        assert f"{begin}sweeps=mine has changed: {change.format('frozen plan')}\n" in planned.out, planned.err
        refusal = change.format(f"plan frozen at {frozen.time}")
        assert refused.refuses_by(f"sweeps=mine: {refusal}; restore it, or give the study another name"), refused.err
    assert read_registration(copied / "runs", "mine") == frozen
    assert len(names(copied)) == 5
    (copied / "runs/registrations/mine.json").unlink()
    assert "\nfrozen " not in say("plan", *WORDS).out


def test_the_recorded_commands_are_those_of_single_runs(copied: Path, say: Say) -> None:
    for path in runs_below(copied / "runs"):
        program, *words = shlex.split(read_record(path / "run.json").command)
        assert (program, words[1:3]) == ("aiayn", ["--config-dir", "my_conf"])
        said = say(*words, "--cfg", "job", "--resolve")
        assert said.code == 0, said.err
        identity = OmegaConf.create(said.out).identity
        assert f"{identity.name}" == str(path.relative_to(copied / "runs"))
    assert say(*words).code == 0, "one finished run, and no stage of the study"


def test_the_same_command_repeats_nothing_nor_do_words_that_change_no_result(copied: Path, say: Say) -> None:
    before = {path: path.read_bytes() for path in (copied / "runs").rglob("*.json")}
    said = say("train", *WORDS, "trainer.log_every_n_steps=2", "cost.currency=EUR", RUNS)
    assert said.code == 0, said.err
    assert said.out.endswith("\n3 finished\n")
    assert {path: path.read_bytes() for path in (copied / "runs").rglob("*.json")} == before


def test_pilots_take_no_runs_out_of_the_tables_and_nothing_is_claimed_of_them(
    copied: Path, say: Say, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AIAYN_SWEEP", "junk")
    for claimed, seeds, complaint in (
        (WORDS, [7, 1001], "seed 1001 of row base is a pilot of study pilots; "),
        (PILOT_WORDS, [1003, 1], "seed 1 of row base is a planned run of study mine; pilots are in no table"),
        (PILOT_WORDS, [1003, 1], "seed 1 of row base has begun already; runs of a study"),
    ):
        said = say("train", *claimed, f"hydra.sweeper.seeds.base={seeds}", FREEZE)
        assert said.refuses_by(f"hydra.sweeper.seeds: {complaint}"), said.err
        if claimed is PILOT_WORDS:
            (copied / "runs/registrations/mine.json").unlink(missing_ok=True)
    assert not list((copied / "runs/registrations").glob("junk.*"))


def test_a_plan_waits_for_the_study_that_tells_its_power(tmp_path: Path, say: Say) -> None:
    write_study(tmp_path, TOLD)
    refusal = "hydra.sweeper.power_from=pilots: "
    for verb in ("plan", "train"):
        said = say(verb, *WORDS, FREEZE)
        complaint = f"{refusal}neither a study with a frozen plan in runs/registrations (there are: none), nor "
        assert said.refuses_by(complaint), said.err
    assert say("train", *PILOT_WORDS, FREEZE).code == 0
    said = say("train", *WORDS, FREEZE)
    assert said.refuses_by(f"{refusal}2 of its 2 runs have not finished as planned; run aiayn train "), said.err
    line = said.err.strip().removeprefix("aiayn: ")
    assert line.endswith("--config-dir my_conf hydra.sweeper.stage=runs")
    planned = say("plan", *WORDS)
    assert planned.code == 0, planned.err
    assert line in planned.out
    assert "power is unknown" in planned.out
    assert not (tmp_path / "runs/registrations/mine.json").exists()


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ((), "sweeps=mine: state hydra.sweeper.stage=freeze or runs, which freezes the plan too"),
        ((RUNS, "seed=1,2"), "seed=1,2: rows and seeds are stated in the file of the study"),
        ((RUNS, "model.positions=learned"), "model.positions=learned: row rotary of the study states model.positions"),
        ((RUNS, "force=true"), "row base: force=true: would train finished runs of the plan anew"),
        ((RUNS, "hydra.sweeper.rows.rotary=['model.positions=rotary','force=true']"), "row rotary: force=true: "),
        ((RUNS, "debug=one_step"), "row base: trainer.fast_dev_run=true: makes trials"),
        ((RUNS, "model.num_heads=3"), "row base: model.num_heads=3"),
        ((RUNS, "hydra.sweeper.rows.base=['seed=3']"), "hydra.sweeper.rows.base: seed=3: a row is one configuration"),
        ((RUNS, "hydra.sweeper.rows.base=['model.d_k=1,2']"), "hydra.sweeper.rows.base: model.d_k=1,2: a row is one"),
        ((RUNS, "hydra.sweeper.steps=[1,12]"), "hydra.sweeper.steps=12: row base has 12 steps; state fewer"),
        ((RUNS, "hydra.sweeper.rows.rotary=[]"), "hydra.sweeper.rows.rotary: composes the same as row base"),
        ((RUNS, "hydra.sweeper.rows.rotary=['data.seed=3']"), "hydra.sweeper.rows.rotary: data.seed is 3, and"),
        ((FREEZE, "data=toy_trees"), "row base: data.kind=toy_trees: claims of studies are about translations"),
        ((RUNS, ONE_HEAD), "hydra.sweeper.claims.one_head=a_h1: no such row"),
        (
            (RUNS, "+hydra.sweeper.rows.a_h1=['model.positions=learned']", ONE_HEAD),
            "hydra.sweeper.claims.one_head: the paper claims it of table3/a_h1, and row a_h1 is table3/base",
        ),
        (
            (FREEZE, "+hydra.sweeper.rows.d_ls0=['experiment=table3/d_ls0','model.norm=pre']", SMOOTHING),
            "hydra.sweeper.claims.label_smoothing: model.norm is pre in row d_ls0 and ",
        ),
    ],
)
def test_what_cannot_be_meant_is_refused_in_one_line(
    tmp_path: Path, say: Say, words: tuple[str, ...], complaint: str
) -> None:
    write_study(tmp_path)
    tiny = WORDS if "data=toy_trees" not in words else [word for word in WORDS if not word.startswith("data.")]
    said = say("train", *tiny, *words)
    assert said.refuses_by(complaint), said.err
    assert not list((tmp_path / "runs").rglob("*.json"))


def test_a_claim_of_the_paper_is_accepted_of_its_rows(tmp_path: Path, say: Say) -> None:
    write_study(tmp_path)
    assert say("plan", *WORDS, "+hydra.sweeper.rows.d_ls0=['experiment=table3/d_ls0']", SMOOTHING).code == 0


@pytest.mark.parametrize("name", ["a/b", "run", "../x", "two words"])
def test_a_name_that_is_no_file_is_refused(
    tmp_path: Path, say: Say, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    write_study(tmp_path)
    monkeypatch.setenv("AIAYN_SWEEP", name)
    assert say("train", *WORDS, RUNS).refuses_by(f"sweeps={name}: the name of a study must consist of letters")


def test_two_commands_at_once_freeze_one_plan_and_share_its_runs(tmp_path: Path, command_line: CommandLine) -> None:
    write_study(tmp_path)
    with ThreadPoolExecutor(2) as pool:
        said = list(pool.map(lambda _: command_line(*OWN_WORDS, RUNS), range(2)))
    for each in said:
        assert each.returncode == 0, each.stderr
        assert each.stdout.endswith("\n3 finished\n")
    assert sum(each.stderr.count("frozen: ") for each in said) == 1
    assert names(tmp_path) == {*read_registration(tmp_path / "runs", "mine").plan.runs}
