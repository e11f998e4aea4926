"""A sweep runs the stated jobs, or is refused at once."""

import os
from collections.abc import Callable
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest
from hydra.conf import HydraConf
from hypothesis import given
from hypothesis import strategies as st

from aiayn.config.compose import compose_command
from aiayn.config.difference import PLANNED_SEEDS_VARIABLE, SWEEP_VARIABLE, SWEPT_VARIABLE
from aiayn.config.store import options
from aiayn.errors import UserError
from aiayn.sweep.words import folder_words, name_sweep, plan_seeds, write_out_globs

CommandLine = Callable[..., Any]

ROWS = options("experiment")
REFUSED_AT_ONCE = "model.d_ff=0"
"""Every job is composed, and none is started."""


@given(row=st.sampled_from(ROWS), start=st.integers(0, 20), end=st.integers(0, 20), plus=st.sampled_from(["", "+"]))
def test_a_glob_means_every_option_that_matches(row: str, start: int, end: int, plus: str) -> None:
    pattern = f"{row[:start]}*{row[max(start, end) :]}"
    (word,) = write_out_globs([f"{plus}experiment=glob({pattern})"])
    assert word == f"{plus}experiment={','.join(name for name in ROWS if fnmatch(name, pattern))}"
    assert row in word


def test_a_glob_matches_options_of_the_user(tmp_path: Path) -> None:
    (tmp_path / "experiment").mkdir()
    (tmp_path / "experiment" / "mine.yaml").touch()
    words = ["experiment=glob([mine,table3/base])", f"hydra.searchpath=['file://{tmp_path}']"]
    assert write_out_globs(words) == ["experiment=mine,table3/base", *words[1:]]


def test_a_recorded_command_names_the_folder_of_the_user_and_no_other_override_of_hydras(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "my conf").mkdir()
    folder = f"hydra.searchpath=['file://{tmp_path / 'my conf'}']"
    others = ["hydra.job.env_set.TOKEN=secret", "hydra.launcher.setup=['export TOKEN=secret']", "hydra.mode=MULTIRUN"]
    assert folder_words([*others, folder]) == ["--config-dir", str(tmp_path / "my conf")]
    monkeypatch.chdir(tmp_path)
    assert folder_words([folder, *others]) == ["--config-dir", "my conf"]
    several = f"hydra.searchpath=['file://{tmp_path}','pkg://theirs']"
    assert folder_words([several]) == [several]
    assert folder_words(others) == []


@pytest.mark.parametrize(
    "word", ["seed=1", "data.name=glob", "experiment=glob(", "seed=glob(*)", "hydra/launcher=glob(*)"]
)
def test_other_words_do_not_change(word: str) -> None:
    assert write_out_globs([word]) == [word]


@pytest.mark.parametrize(
    ("words", "is_multirun", "in_file", "planned"),
    [
        (["seed=1,2,3", "model.num_heads=2,4"], True, None, "1 2 3"),
        (["seed=range(1,4)"], True, None, "1 2 3"),
        (["seed=\"1\",'2',3"], True, None, "1 2 3"),
        (["seed=4"], True, None, ""),
        (["seed=1,2,3"], False, None, ""),
        (["sweeps=seeds"], False, "1,2,3,4,5", "1 2 3 4 5"),
        (["sweeps=seeds", "seed=1,2"], False, "1,2,3,4,5", "1 2"),
    ],
)
def test_the_planned_seeds_are_those_of_the_command_or_else_of_the_file(
    words: list[str], is_multirun: bool, in_file: str | None, planned: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in (SWEEP_VARIABLE, SWEPT_VARIABLE, PLANNED_SEEDS_VARIABLE):
        monkeypatch.setenv(variable, "9")
    name_sweep(words, is_multirun=is_multirun)
    hydra = HydraConf()
    hydra.sweeper = {"params": {} if in_file is None else {"seed": in_file}}
    plan_seeds(hydra)
    assert os.environ[PLANNED_SEEDS_VARIABLE] == planned


def test_a_glob_that_matches_nothing_is_refused_with_the_options() -> None:
    with pytest.raises(UserError, match=r"^experiment=glob\(table3/x\*\): matches no option; choose from .*table3/big"):
        write_out_globs(["experiment=glob(table3/x*)"])


@pytest.mark.parametrize(
    "words",
    [
        ["sweeps=seeds", "sweeps=table3"],
        ["sweeps=seeds,table3", "-m"],
        ["sweeps=[seeds,table3]"],
        ["+sweeps=seeds", "sweeps=table3"],
        ["sweeps=glob(table3_*)"],
    ],
)
def test_two_sweeps_at_once_are_refused(aiayn: CommandLine, words: list[str]) -> None:
    said = aiayn("train", *words)
    assert (said.code, said.out, said.err.count("\n")) == (2, "", 1)
    assert "one sweep at a time" in said.err


def test_a_sweep_without_a_job_is_refused(aiayn: CommandLine) -> None:
    said = aiayn("train", "-m", "seed=range(3,1)")
    assert (said.code, said.out) == (2, "")
    assert said.err.splitlines()[-1].startswith(
        "aiayn: aiayn train 'seed=range(3,1)' --multirun: no job to run, since "
    )


@pytest.mark.parametrize(
    ("words", "jobs"),
    [
        (["sweeps=table3_e", "seed=1,2"], 4),
        (["sweeps=table3", "experiment=table3/base"], 1),
        (["sweeps=seeds", "seed=7,8", "experiment=glob(table3/e_*)", "-m"], 2),
    ],
)
def test_the_command_line_wins_over_the_sweep_and_combines_with_it(
    aiayn: CommandLine, words: list[str], jobs: int
) -> None:
    said = aiayn("train", *words, REFUSED_AT_ONCE)
    assert said.code == 1
    assert said.err.count("model.d_ff=0: must be at least 1\n") == jobs
    assert said.err.splitlines()[-1].startswith(f"aiayn: {jobs} of {jobs} jobs failed; ")
    assert said.out.count("refused") == jobs + 1, "each has its line in the table, and all are counted"
    assert said.out.endswith(f"\n{jobs} refused\n")


def test_a_sweep_is_named_after_its_file_by_default(aiayn: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    assert aiayn("train", "sweeps=seeds", "seed=1,2", "-m", REFUSED_AT_ONCE).code == 1
    assert SWEEP_VARIABLE not in os.environ
    assert compose_command("train", ["sweeps=seeds"]).identity.sweep == "seeds"
    assert compose_command("train", ["sweeps=seeds", "identity.sweep=mine"]).identity.sweep == "mine"
    monkeypatch.setenv(SWEEP_VARIABLE, "ours")
    assert compose_command("train", ["sweeps=seeds"]).identity.sweep == "ours"


def test_a_sweep_of_the_user_is_found_by_its_name(aiayn: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "my_conf" / "sweeps").mkdir(parents=True)
    text = "# @package _global_\nhydra:\n  mode: MULTIRUN\n  sweeper:\n    params:\n      seed: 4,5\n"
    (tmp_path / "my_conf" / "sweeps" / "mine.yaml").write_text(text)
    said = aiayn("train", "--config-dir", "my_conf", "sweeps=mine", REFUSED_AT_ONCE)
    assert said.out.endswith("\n2 refused\n")
    said = aiayn("train", "--config-dir", "my_conf", "sweeps=mint", REFUSED_AT_ONCE)
    assert (said.code, said.err) == (2, "aiayn: sweeps=mint: no such option; did you mean mine?\n")
