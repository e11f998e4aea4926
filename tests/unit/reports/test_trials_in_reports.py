"""A trial is in no report, whatever it scored, and is shown as one where it is named."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from aiayn.commands.front_end import main

MakeRun = Callable[..., Path]

TRIALS = ("trainer.fast_dev_run=true", "trainer.overfit_batches=10", "trainer.limit_val_batches=1")


@pytest.fixture
def said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """What a command says on standard output, or else on standard error."""

    def call(*words: str) -> str:
        capsys.readouterr()
        main([*words, *([] if words[0] == "compare" else [f"paths.runs={tmp_path / 'runs'}"])])
        told = capsys.readouterr()
        return told.out or told.err

    return call


@pytest.mark.parametrize("noun", ["table3", "comparison"])
def test_a_trial_beside_a_run_changes_no_report(noun: str, make_run: MakeRun, said: Callable[..., str]) -> None:
    make_run("base")
    make_run("a_h1")
    without = said("report", noun)
    for trial in TRIALS:
        make_run("base", trial, nll=7.0)
    assert said("report", noun) == without


@pytest.mark.parametrize(("noun", "complaint"), [("comparison", "no finished run"), ("cost", "has begun to train")])
def test_trials_alone_are_no_runs(noun: str, complaint: str, make_run: MakeRun, said: Callable[..., str]) -> None:
    make_run("base", TRIALS[0], hardware={"processor": "a"}, seconds=9.0)
    assert complaint in said("report", noun)


def test_a_table_of_trials_is_pending(make_run: MakeRun, said: Callable[..., str]) -> None:
    make_run("base", TRIALS[0])
    assert said("report", "table3").endswith("no run has finished yet\n")


def test_status_says_that_it_is_a_trial(make_run: MakeRun, said: Callable[..., str]) -> None:
    make_run("base")
    make_run("base", TRIALS[0], nll=7.0)
    out = said("status")
    assert out.splitlines()[-2:] == [
        "1 finished, 1 trial",
        f"{_folder(make_run)}: {TRIALS[0]}: in no report",
    ]
    assert "1096.6" not in out, "nor its score"
    assert "False" not in out, "and nothing is noted of the other"


def _folder(make_run: MakeRun) -> str:
    return "/".join(make_run("base", TRIALS[0], nll=7.0).parts[-3:])


@pytest.mark.parametrize("command", [["compare", "run={0}", "against={1}"], ["report", "matrix", "run={0}"]])
def test_a_trial_is_not_compared(command: list[str], make_run: MakeRun, said: Callable[..., str]) -> None:
    trial, real = make_run("base", TRIALS[1]), make_run("base")
    expected = f"run={trial}: a trial ({TRIALS[1]}), which is no result; aiayn report run shows it"
    words = [word.format(trial, real) for word in command]
    assert expected in " ".join(said(*words).split())


def test_its_own_report_says_so(make_run: MakeRun, said: Callable[..., str], tmp_path: Path) -> None:
    trial = make_run("base", TRIALS[0])
    out = said("report", "run", f"run={trial}")
    assert f"a trial ({TRIALS[0]})" in " ".join(out.split())
    assert not re.search(r"\bpaper\b", out), "nothing to compare it with"
    said("report", "run", f"run={trial}", f"output={tmp_path / 'run.md'}")
    assert f"finished; a trial and no result ({TRIALS[0]})" in (tmp_path / "run.md").read_text()
