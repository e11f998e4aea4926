"""`aiayn reproduce` is two command lines: the sweep of a table and its report."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aiayn.commands.reproduce import OF_BOTH, OF_THE_REPORT, TABLES, command_lines, reproduce
from aiayn.config import store
from aiayn.config.compose import compose_command
from aiayn.errors import RunFailedError, UserError

CommandLine = Callable[..., Any]

OVERRIDES = st.sampled_from(
    ["seed=1,2", "model.dropout=0.0", "paths.runs=elsewhere", "output=table.md", "scale=nano", "-v=1"]
)


@settings(max_examples=8, deadline=None)  # composing takes its time
@given(st.sampled_from(TABLES), st.lists(OVERRIDES.filter(lambda word: not word.startswith("-")), unique=True))
def test_every_word_goes_to_the_command_that_knows_it(table: str, words: list[str]) -> None:
    sweep, report = command_lines([table, *words])
    assert sweep[0] == {"table2": "sweeps=table2_en_de", "table3": "sweeps=table3", "table4": "-m"}[table]
    assert report[0] == table
    assert report[-1] == ("only.scale=nano" if "scale=nano" in words else "only.scale=demo")
    for word in words:
        key = word.partition("=")[0]
        assert (word in sweep) == (key not in OF_THE_REPORT)
        assert (word in report) == (key in (*OF_THE_REPORT, *OF_BOTH))
    assert compose_command("report", [f"noun={table}", *report[1:]])


@pytest.mark.parametrize("table", TABLES)
def test_every_table_is_a_sweep_and_a_report(table: str) -> None:
    words = ["scale=paper", "data=treebank"]
    assert command_lines([table, *words])[0] == [f"sweeps={table}", *words]
    for scale in ("paper", "nano"):
        (first, *words), _ = command_lines([table, f"scale={scale}", "data=treebank"])
        if first != "-m":
            assert first.removeprefix("sweeps=") in store.options("sweeps")
        assert compose_command("train", words)


@pytest.mark.parametrize(
    ("words", "runs"),
    [
        ([], ["-m", "experiment=table4/wsj_only", "data=toy_trees"]),
        (["data.path=wsj"], ["-m", "experiment=table4/wsj_only"]),
        (["data=treebank"], ["-m", "experiment=table4/wsj_only"]),
        (["experiment=table4/semi_supervised", "data.path=wsj"], ["-m"]),
        (["scale=paper", "data.path=wsj"], ["sweeps=table4"]),
    ],
)
def test_the_parser_is_trained_on_embedded_trees_by_default(words: list[str], runs: list[str]) -> None:
    sweep, report = command_lines(["table4", *words])
    assert sweep == [*runs, *words]
    assert report[0] == "table4"


def test_the_report_is_printed_also_where_jobs_failed(capsys: pytest.CaptureFixture[str]) -> None:
    done: list[list[str]] = []

    def run(words: list[str]) -> int:
        done.append(words)
        if words[0] == "train":
            raise RunFailedError("1 of 20 jobs failed")
        return 0

    with pytest.raises(RunFailedError, match="1 of 20 jobs failed"):
        reproduce(["table3", "scale=nano", "output=table3.md"], run)
    assert done == [
        ["train", "sweeps=table3", "scale=nano"],
        ["report", "table3", "only.scale=nano"],
        ["report", "table3", "output=table3.md", "only.scale=nano"],
    ]
    assert reproduce(["--help"], run) == 0
    assert len(done) == 3
    assert capsys.readouterr().out.startswith("aiayn reproduce table")


@pytest.mark.parametrize(("has_failed", "reason"), [(True, "1 of 1 jobs failed"), (False, "scale differs")])
def test_a_failed_sweep_wins_over_a_refused_report(has_failed: bool, reason: str) -> None:
    def run(words: list[str]) -> int:
        if words[0] == "report":
            raise UserError("scale differs")
        if has_failed:
            raise RunFailedError("1 of 1 jobs failed")
        return 0

    with pytest.raises(RunFailedError if has_failed else UserError, match=reason):
        reproduce(["table4", "scale=nano"], run)


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ([], "aiayn reproduce: choose a table from "),
        (["table9"], "aiayn reproduce table9: did you mean table"),
        (["table3", "-m"], "-m: aiayn reproduce has no flags but --help"),
        (["table3", "sweeps=seeds"], "sweeps=seeds: aiayn reproduce table3 runs its own sweep"),
        (["table3", "scale=nano,demo"], "scale=nano,demo: a table has one scale"),
        (["table2", "only.like=runs/x"], "only.like=runs/x: report table2 chooses runs by only.scale, only.data"),
        (["table2", "output=table.csv"], "output=table.csv: the suffix says the format; choose from .md, .tex, .json"),
        (["table4", "scale=paper"], "aiayn reproduce table4 scale=paper: state data.path=<folder of the WSJ>"),
    ],
)
def test_other_words_are_refused_in_one_line(words: list[str], complaint: str) -> None:
    with pytest.raises(UserError, match=complaint):
        command_lines(words)


def test_a_mistake_is_refused_before_anything_runs(aiayn: CommandLine) -> None:
    said = aiayn("reproduce", "table3", "model.dropuot=0")
    assert said.code == 2
    assert said.err == "aiayn: model.dropuot: no such key; did you mean model.dropout?\n"
