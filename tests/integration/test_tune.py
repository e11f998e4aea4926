"""`aiayn tune` chooses beam size and alpha on the development set, and its figures are those of evaluations."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from commands import Say
from run_files import add_random_checkpoint

from aiayn.commands.front_end import main
from aiayn.evaluation.sentences import read_sentence_scores

Tune = Callable[..., Any]

GRID = ("beam_sizes=[1,4]", "alphas=[0.6,3.0]", "decoding.max_extra_length=12")


@pytest.fixture(scope="module")
def run(trained_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the run, to be evaluated, with weights on which searches differ."""
    copy = tmp_path_factory.mktemp("tuned") / "run"
    shutil.copytree(trained_run, copy, ignore=shutil.ignore_patterns("evaluations"))
    add_random_checkpoint(copy, deviation=0.05)
    return copy


@pytest.fixture(scope="module")
def tuned(run: Path) -> dict[str, Any]:
    """The grid as JSON."""
    output = run.with_name("tuning.json")
    assert main(["tune", f"run={run}", "checkpoint=1", *GRID, f"output={output}"]) == 0
    content: dict[str, Any] = json.loads(output.read_text())
    return content


@pytest.fixture
def tune(run: Path, say: Say) -> Tune:
    """`aiayn tune` in this process."""
    return lambda *words: say("tune", *([] if "run=" in str(words) else [f"run={run}"]), "checkpoint=1", *words)


def evaluated(run: Path, beam_size: int, alpha: float) -> tuple[dict[str, Any], float]:
    """The scores of dev that an evaluation with this setting writes, and its length ratio."""
    setting = (f"decoding.beam_size={beam_size}", f"decoding.length_penalty_alpha={alpha}")
    words = ("checkpoint=1", "splits=dev", "decoding.max_extra_length=12", *setting)
    assert main(["evaluate", f"run={run}", *words]) == 0
    folder = run / "evaluations" / f"step-0000001-beam{beam_size}-alpha{alpha:g}-extra12"
    rows = read_sentence_scores(folder / "dev.sentences.jsonl")
    hypothesis, reference = (sum(row.bleu_statistics[column] for row in rows) for column in (0, 1))
    return json.loads((folder / "scores.json").read_text())["dev"], hypothesis / reference


def test_a_setting_has_the_scores_of_its_evaluation(tuned: dict[str, Any], run: Path) -> None:
    assert len(tuned["tried"]) == 4
    assert len({each["length_ratio"] for each in tuned["tried"]}) > 1, "alike, nothing could be told apart"
    for each in tuned["tried"][::3]:  # another alpha for another beam
        scores, length_ratio = evaluated(run, *each["setting"].values())
        assert each["bleu"] == pytest.approx(scores["bleu"]["score"])
        assert each["length_ratio"] == pytest.approx(length_ratio)
        assert tuned["sentences"] == scores["sentences"]


def test_the_best_and_the_papers_are_searched(tuned: dict[str, Any], run: Path) -> None:
    assert tuned["split"] == "dev"
    highest = max(each["bleu"] for each in tuned["tried"])
    assert tuned["best"]["bleu"]["score"] == pytest.approx(highest)
    assert tuned["paper"]["setting"] == {"beam_size": 4, "alpha": 0.6}
    for each in (tuned["best"], tuned["paper"]):
        scores, length_ratio = evaluated(run, *each["setting"].values())
        assert each["bleu"] == scores["bleu"]
        assert each["length_ratio"] == pytest.approx(length_ratio)
        assert each["other_outputs"] == 0
    difference = tuned["difference"]
    for name, searched in (("first", "best"), ("second", "paper")):
        assert difference[name] == pytest.approx(tuned[searched]["bleu"]["score"])
    assert difference["low"] <= difference["high"]


def test_the_page_shows_the_same_and_its_command_runs(
    tune: Tune, tuned: dict[str, Any], tmp_path: Path, say: Say
) -> None:
    assert tune(*GRID, "output=tuning.md").code == 0
    page = (tmp_path / "tuning.md").read_text()
    best = tuned["best"]["setting"]
    (row,) = re.findall(rf"^\| {best['beam_size']} \|.*\*.*$", page.partition("length ratio")[0], re.MULTILINE)
    assert f"*{max(each['bleu'] for each in tuned['tried']):.2f}" in row
    assert "test was not read" in page
    assert "†" in page
    (command,) = re.findall(r"^```\naiayn (.*)\n```$", page, re.MULTILINE)
    assert command == tuned["command"].removeprefix("aiayn ")
    assert f"{tuned['best']['bleu']['score']:.2f}" in say(*command.split(), "splits=dev").out


def test_the_terminal_shows_it_and_ensembles_are_tuned_alike(tune: Tune, run: Path) -> None:
    words = ("beam_sizes=2", "alphas=[0.6]", "decoding.limit_sentences=3")
    alone, twice = tune(*words), tune(*words, f"run=[{run},{run}]")
    assert (alone.code, twice.code) == (0, 0)
    assert "other outputs" in alone.out
    assert alone.out.partition("Searched")[0] == twice.out.partition("Searched")[0]
    assert f"{run} + {run}: " in twice.out


def test_reranking_has_the_runs_length_penalty(tune: Tune, tmp_path: Path) -> None:
    words = ("beam_sizes=4", "alphas=[0.6,3.0]", "decoding.max_extra_length=12", "decoding.length_penalty=power")
    assert tune(*words, "output=power.json").code == 0
    content = json.loads((tmp_path / "power.json").read_text())
    assert [content[each]["other_outputs"] for each in ("best", "paper")] == [0, 0]
    assert "decoding.length_penalty=power" in content["command"]


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["beam_sizes=[]"], "beam_sizes=[]: state whole numbers, as in beam_sizes=[4,8]"),
        (["beam_sizes=1.5"], "beam_sizes=1.5: must be a whole number, or a list of them"),
        (["beam_sizes=[0,4]"], "decoding.beam_size=0: must be at least 1"),
        (["alphas=[true]"], "alphas=[True]: must be a number, or a list of them"),
        (["alphas=[-1]"], "decoding.length_penalty_alpha=-1: must be at least 0"),
        (["decoding.beam_size=3"], "decoding.beam_size: no such key"),
    ],
)
def test_mistakes_are_one_line(tune: Tune, words: list[str], complaint: str) -> None:
    assert tune(*words).refuses_by(complaint)
