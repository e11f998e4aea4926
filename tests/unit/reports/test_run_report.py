"""A run's page is made of its record and configuration alone, in any state of the run."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from aiayn.config.command_schema import View
from aiayn.errors import UserError
from aiayn.evaluation.score import Score
from aiayn.paper.tables import load_table3
from aiayn.reports.row import footer, paper_cells, print_row, print_scores
from aiayn.reports.run import facts, markdown, report_run
from aiayn.reports.status import print_status
from aiayn.runs.directory import RunDirectory
from aiayn.runs.record import Record, SplitScores, Status, read_record

MakeRecord = Callable[..., Record]
Scores = dict[str, SplitScores]


def rows(page: str) -> list[list[str]]:
    """The cells of every table in the page."""
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in page.splitlines() if line.startswith("|")]


def fact(page: str, name: str) -> str:
    (value,) = (row[1] for row in rows(page) if row[0] == name)
    return value


def a_run(record: Record, path: Path) -> RunDirectory:
    directory = RunDirectory(path)
    record.write(directory.record)
    directory.config.write_text(f"seed: 7\npaths:\n  runs: {Path.cwd()}/runs\n")
    return directory


def test_a_run_without_scores_has_its_reason(make_record: MakeRecord) -> None:
    page = markdown(make_record(status=Status.failed, message="out of patience"), "seed: 7")
    assert "No scores: failed (out of patience)." in page
    assert fact(page, "status") == "failed (out of patience)"
    assert not any(row[0].startswith("paper") for row in rows(page))
    assert "No scores: running." in markdown(make_record(status=Status.running), "seed: 7")


@pytest.mark.parametrize("experiment", ["table3/a_h1", "table3/base", "mine"])
def test_the_papers_scores_are_above_the_runs(make_record: MakeRecord, scores: Scores, experiment: str) -> None:
    page = markdown(make_record(experiment=experiment, scores=scores), "seed: 7")
    by_split = {row[1]: row for row in rows(page) if row[0].startswith("this run")}
    for split, result in scores.items():
        assert by_split[split][2:4] == [f"{result.ppl:.2f}", f"{result.quality.score:.2f}"]
    of_paper = [row for row in rows(page) if row[0].startswith("paper")]
    table, _, row_id = experiment.partition("/")
    if table == "table3":
        ppl, bleu, parameters, steps = paper_cells(load_table3().row(row_id))
        assert of_paper == [["paper (newstest2013)", "dev", ppl, bleu, "", parameters, steps]]
    else:
        assert of_paper == []
    assert f"`{scores['dev'].quality.signature}`" in page


def test_facts_are_the_records(make_record: MakeRecord, scores: Scores) -> None:
    record = make_record(
        scores=scores,
        commit="c0ffee",
        dirty=True,
        hardware={
            "processor": "abacus",
            "cores": 1,
            "threads": 2,
            "memory_gib": 3.5,
            "gpus": ["slide rule", "slide rule"],
        },
        data_counts={"train": {"pairs": 4000, "dropped_too_long": 3, "dropped_empty": 0}, "dev": {"pairs": 20}},
        versions={"torch": "1.2.3"},
        flops=3.28e18,
    )
    page = markdown(record, "seed: 7")
    assert fact(page, "commit") == "c0ffee (with uncommitted changes)"
    assert fact(page, "machine") == "2 x slide rule, abacus, 1 core, 2 threads, 3.5 GiB"
    train, dev = fact(page, "data").split("; ")
    assert train.startswith("train 4,000 pairs, 3 too long")
    assert "empty" not in train, "nothing empty was dropped"
    assert dev == "dev 20 pairs"
    assert fact(page, "versions") == "torch 1.2.3"
    assert float(fact(page, "FLOPs")) == record.flops
    assert fact(page, "evaluation time") == "1 min 00 s"
    assert fact(markdown(make_record(), ""), "commit") == "not a checkout"


def test_unknown_facts_are_empty(make_record: MakeRecord) -> None:
    new = make_record(started="2026-01-02T03:04:05+00:00", ended=None)
    assert facts(new)["machine"] == ""
    assert facts(new)["started, ended"] == new.started
    assert facts(replace(new, hardware={"threads": 1, "processor": "", "gpus": []}))["machine"] == "1 thread"
    assert "None" not in "".join(facts(new).values())


def test_a_written_report_has_the_record_beside_it(
    make_record: MakeRecord, scores: Scores, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record = make_record(scores=scores)
    output = tmp_path / "results" / "base.md"
    report_run(a_run(record, tmp_path / "run"), output)
    assert capsys.readouterr().out == f"{output}\n"
    assert read_record(output.with_suffix(".json")) == record
    page = output.read_text()
    assert f"```\n{record.command}\n```" in page
    assert "```yaml\nseed: 7\npaths:\n  runs: runs\n```" in page


def test_the_terminal_shows_status_message_and_command(
    make_record: MakeRecord, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record = make_record(status=Status.failed, message="out of patience")
    report_run(a_run(record, tmp_path), None)
    lines = ["status: failed (out of patience)", f"command: {record.command}", "code: not a checkout"]
    assert capsys.readouterr().out.splitlines() == lines


def test_a_damaged_record_is_refused(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text("{")
    with pytest.raises(UserError, match=r"run\.json: not JSON"):
        report_run(RunDirectory(tmp_path), None)


def test_other_definitions_have_a_table_of_their_own(make_record: MakeRecord, scores: Scores) -> None:
    plain = markdown(make_record(scores=scores), "seed: 7")
    assert "by definition" not in plain
    intl = Score(31.5, "nrefs:1|tok:intl")
    with_matrix = {split: replace(result, matrix={"bleu_intl": intl}) for split, result in scores.items()}
    page = markdown(make_record(scores=with_matrix), "seed: 7")
    assert ["sacreBLEU intl", "31.50", "31.50"] in [row[:3] for row in rows(page)]
    assert plain.splitlines()[:12] == page.splitlines()[:12]  # the columns of BLEU are as they were


def test_no_word_breaks_on_a_terminal(
    make_record: MakeRecord,
    scores: Scores,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Sentences are wrapped between words; commands and long paths stay whole, to be copied."""
    reason = (
        "interrupted at step 300 by SIGTERM, as the queue's limit was near; rerun the command to resume exactly there"
    )
    command = f"aiayn train {' '.join(f'data.key{number}=[{number},' for number in range(20))}"
    record = make_record(
        scores=scores,
        status=Status.interrupted,
        message=reason,
        command=command,
        difference="model.num_layers=3 model.d_model=192 optimization.learning_rate_factor=0.25",
    )
    directory = a_run(record, tmp_path / "table3/base" / ("nano-seed1-" + 70 * "0"))
    for name, value in {"FORCE_COLOR": "1", "COLUMNS": "80", "TERM": "dumb"}.items():
        monkeypatch.setenv(name, value)
    report_run(directory, None)
    print_status(tmp_path, View.runs)
    print_row(record, directory.path)
    print_scores(scores, run=str(directory.path))
    shown = re.sub("\x1b[^m]*m", "", capsys.readouterr().out)
    words = {*shown.split()}
    expected = f"{reason} {record.difference}, {footer(record)} grammar {directory.path}".split()
    assert {*expected} <= words, {*expected} - words
    assert f"\ncommand: {command}\n" in shown
    long = [line for line in shown.splitlines() if len(line) > 80]
    assert all(line.startswith("command: ") or " " not in line.strip() for line in long), long
