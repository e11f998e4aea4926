"""The report says what the records say, in every format, and what is missing is pending."""

import csv
import dataclasses
import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from aiayn.errors import UserError
from aiayn.evaluation.significance import bootstrap
from aiayn.paper.claims import Metric
from aiayn.paper.tables import load_table3
from aiayn.reports import formats
from aiayn.reports.comparability import ComparableRuns, comparable_runs
from aiayn.reports.formats import FORMATS, show
from aiayn.reports.tables.table3 import Report, document, report_of
from aiayn.reports.tables.table3_claims import MeasuredRows, judge
from aiayn.reports.tables.table3_rows import Line
from aiayn.reports.verdicts import Verdict
from aiayn.runs.ledger import read_results
from aiayn.runs.record import Status

MakeRun = Callable[..., Path]
TABLE = load_table3()
DOCS = Path(__file__).parents[3] / "docs" / "tables.md"

EMPTY = report_of(ComparableRuns((), 0), resamples=100, seed=1)


def report(runs: Path, **choices: str) -> Report:
    chosen = dict.fromkeys(("scale", "data", "like")) | choices
    return report_of(comparable_runs(read_results(runs), runs, **chosen), resamples=200, seed=1)


def written(found: Report, suffix: str) -> str:
    return FORMATS[suffix](document(found))


def lines(found: Report) -> dict[str, Line]:
    return {line.row.id: line for line in found.lines}


@pytest.fixture(scope="module")
def found(make_run_in: MakeRun, tmp_path_factory: pytest.TempPathFactory) -> Report:
    """Of base and two rows with three seeds, one row with one, one failed, one half way."""
    runs = tmp_path_factory.mktemp("table3")
    for seed in (1, 2, 3):
        make_run_in(runs, "base", seed=seed)
        make_run_in(runs, "c_n2", seed=seed, nll=2.3, match=0.5)
        make_run_in(runs, "big", seed=seed, nll=1.7, match=0.9)
    make_run_in(runs, "d_ls0", nll=1.9, match=0.69)
    make_run_in(runs, "a_h1", status=Status.failed, scores={}, message="it diverged")
    make_run_in(runs, "base", seed=4, status=Status.interrupted, scores={})
    return report(runs)


def test_rows_are_in_the_papers_order_with_their_state(found: Report) -> None:
    assert [line.row.id for line in found.lines] == [row.id for row in TABLE.rows]
    states = {row_id: line.state for row_id, line in lines(found).items() if line.state != "pending"}
    assert states == {
        "base": "finished, 1 interrupted",
        "c_n2": "finished",
        "big": "finished",
        "d_ls0": "finished",
        "a_h1": "failed",
    }
    assert lines(found)["base"].seeds == (1, 2, 3)
    assert not lines(found)["a_h1"].measured
    assert any("it diverged" in remark for remark in found.remarks)
    assert len(found.runs) == 10


def test_values_differences_and_verdicts_follow_from_the_sentences(found: Report) -> None:
    for metric in Metric:
        base, small = (lines(found)[row].measured[metric] for row in ("base", "c_n2"))
        assert base.difference is None
        assert base.deviation
        assert small.difference is not None
        assert small.difference.estimate == pytest.approx(small.value - base.value)
        assert small.difference.low < small.difference.estimate < small.difference.high
        assert lines(found)["d_ls0"].measured[metric].deviation is None
    verdicts = {claim.claim.id: claim.verdict for claim in found.claims}
    assert {verdicts[name] for name in ("one_head", "more_layers", "big_is_best")} == {Verdict.pending}
    (big,) = (
        judged
        for claim in found.claims
        for judged in claim.comparisons
        if judged.comparison.rows == ("big", "base") and judged.comparison.metric is Metric.bleu
    )
    assert big.verdict is Verdict.reproduced


def test_one_contradicted_comparison_is_enough_and_one_missing_row_leaves_the_rest_open() -> None:
    (claim,) = (claim.claim for claim in EMPTY.claims if claim.claim.id == "too_many_heads")
    worse, better = (
        [[1.0 * nll * 20, 20, 20, 20, *matches, 20, 19, 18, 17] for _ in range(30)]
        for nll, matches in ((2.0, (10, 6, 3, 1)), (1.0, (19, 17, 15, 13)))
    )
    measured = bootstrap([[np.array(worse)], [np.array(better)]], resamples=100, seed=1)
    assert judge(claim, MeasuredRows(measured, {"base": 1, "a_h32": 0})).verdict is Verdict.reproduced
    assert judge(claim, MeasuredRows(measured, {"base": 0, "a_h32": 1})).verdict is Verdict.contradicted
    assert judge(claim, MeasuredRows(measured, {"base": 0, "a_h1": 1})).verdict is Verdict.pending


def test_differences_need_base_and_correlations_three_rows(make_run: MakeRun, tmp_path: Path) -> None:
    make_run("c_n2", nll=2.3, match=0.5)
    assert lines(report(tmp_path / "runs"))["c_n2"].measured[Metric.ppl].difference is None
    make_run("base")
    assert report(tmp_path / "runs").correlations == {}
    make_run("big", nll=1.7, match=0.9)
    found = report(tmp_path / "runs")
    assert [correlation.estimate for correlation in found.correlations.values()] == pytest.approx([1, 1])
    assert not found.seed_deviations, "one seed each"


@pytest.mark.parametrize("damage", ["", "torn"])
def test_damaged_sentences_are_named_in_one_line(make_run: MakeRun, tmp_path: Path, damage: str) -> None:
    (path,) = make_run("base").glob("evaluations/*/dev.sentences.jsonl")
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]) + damage)
    with pytest.raises(UserError, match="evaluate the run again") as caught:
        report(tmp_path / "runs")
    assert str(path) in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


def test_what_was_trained_stands_beside_what_the_paper_has(found: Report) -> None:
    make = written(found, ".md")
    assert "settings in brackets are those trained here" in make
    line = next(line for line in make.splitlines() if line.startswith("|  | big |"))
    assert [cell.strip() for cell in line.split("|")][3:13] == [
        *("", "1024 (256)", "4096 (1024)", "16", "", "", "0.3", "", "", "300K (4,200)")
    ]


def test_json_has_every_number(found: Report) -> None:
    content: dict[str, Any] = json.loads(written(found, ".json"))
    rows = {row["row"]: row for row in content["rows"]}
    assert [*rows] == [row.id for row in TABLE.rows]
    small, missing = rows["c_n2"], rows["c_n4"]
    assert (small["change_paper"], small["change"]) == ("N=2", "N=1")
    assert (small["settings_paper"]["model.d_model"], small["settings"]["model.d_model"]) == (512, 128)
    assert small["ppl"] == lines(found)["c_n2"].measured[Metric.ppl].value
    assert small["ppl_difference_paper"] == pytest.approx(6.11 - 4.92)
    assert (missing["change_paper"], missing["change"], missing["settings"]) == ("N=4", "", {})
    assert missing["bleu"] is None
    assert len(content["claims"]) == len(found.claims)
    assert content["rank_correlations"].keys() == set(Metric)


@pytest.mark.parametrize("width", [80, 120])
def test_the_terminal_tells_what_was_trained_at_any_width(
    found: Report, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    monkeypatch.setattr(formats, "WIDTH_OF_A_FILE", width)
    show(document(found), None)
    said = capsys.readouterr().out
    sizes = said[said.index("What each row states") : said.index("Differences to base")]
    assert max(map(len, sizes.splitlines())) <= width
    (line,) = (line for line in sizes.splitlines() if line.split()[:1] == ["c_n2"])
    assert line.split() == ["c_n2", "N=2", "N=1"]


def test_at_the_papers_own_sizes_there_is_nothing_beside_them(make_run: MakeRun, tmp_path: Path) -> None:
    make_run("base", "scale=paper")
    found = report(tmp_path / "runs")
    page = written(found, ".md")
    assert "in brackets" not in page
    assert "| 100K |" in page


def trained(tokens: int, steps: int = 1400, **changes: Any) -> dict[str, Any]:
    counts = {"train": {"pairs": 100, "source_tokens": 1000, "target_tokens": 1000}}
    return {"tokens": tokens, "steps": steps, "data_counts": counts, **changes}


def test_a_report_opens_with_what_short_runs_can_test(make_run: MakeRun, tmp_path: Path) -> None:
    for row in ("base", "a_h1", "d_drop0", "d_ls0", "e_learned"):
        make_run(row, **trained(6000))
    make_run("base", seed=2, **trained(6000))
    found = report(tmp_path / "runs")
    assert found.scope.not_evidence == {"dropout", "label_smoothing", "learned_positions"}
    sentence = found.scope.sentence
    assert sentence.startswith(
        "These runs (scale nano, 1,400 steps, warm-up over 71% of them, 3.0 passes over the training data, "
        "1 to 2 seeds a row) can test at most what the paper says of heads, "
    )
    assert "Their verdicts on dropout, label smoothing and positions are not evidence: training ends" in sentence
    page = written(found, ".md")
    assert page.splitlines()[2] == sentence
    assert re.search(r"\| dropout \| 6.2 \| .* \| \w+ \* \|", page)
    content = json.loads(written(found, ".json"))
    assert content["scope"] == sentence
    assert {each["claim"]["id"] for each in content["claims"] if not each["is_evidence"]} == found.scope.not_evidence
    assert sentence.partition("(")[0] in written(found, ".tex")


def test_long_runs_that_read_their_data_often_test_every_claim(make_run: MakeRun, tmp_path: Path) -> None:
    for row in ("base", "d_drop0", "e_learned"):
        make_run(row, **trained(24_000, steps=8000))
    scope = report(tmp_path / "runs").scope
    assert not scope.not_evidence
    assert "evidence" not in scope.sentence
    make_run("base", "scale=paper", **trained(24_000, steps=100_000, data_fingerprint="e" * 64))
    assert report(tmp_path / "runs", scale="paper").scope.sentence == ""


def test_changes_to_the_rows_experiments_are_named(make_run: MakeRun, tmp_path: Path) -> None:
    make_run("base", "model.attention=additive", difference="attention=additive")
    make_run("a_h1", "model.attention=additive", difference="attention=additive")
    remark = "Changed from the experiments of their rows, in 2 of 2 runs: attention=additive."
    assert remark in report(tmp_path / "runs").remarks


def test_a_report_names_its_commits_and_the_runs_of_each(make_run: MakeRun, tmp_path: Path) -> None:
    for row in ("base", "a_h1"):
        make_run(row, commit="a" * 40, dirty=False)
    assert f"code: commit {'a' * 12}" in report(tmp_path / "runs").remarks
    other = make_run("base", seed=2, commit="b" * 40, dirty=True, earlier_commits=["c" * 40])
    (remark,) = (line for line in report(tmp_path / "runs").remarks if line.startswith("code: "))
    assert remark.startswith("code: the runs are of 2 versions, whose results may differ: ")
    assert f"commit {'b' * 12} with uncommitted changes, begun by {'c' * 12}: {other.name}" in remark
    assert remark in written(report(tmp_path / "runs"), ".md")
    code = json.loads(written(report(tmp_path / "runs"), ".json"))["code"]
    assert [(each["commit"][0], each["dirty"], len(each["runs"])) for each in code] == [("a", False, 2), ("b", True, 1)]


def test_csv_is_read_back_by_any_reader(found: Report) -> None:
    rows = list(csv.DictReader(written(found, ".csv").splitlines()))
    assert [row["row"] for row in rows] == [row.id for row in TABLE.rows]
    assert {row["BLEU"] for row in rows} == {"nrefs:1|tok:13a"}
    (big,) = (row for row in rows if row["row"] == "big")
    assert float(big["bleu"]) == lines(found)["big"].measured[Metric.bleu].value
    assert (big["seeds"], big["state"]) == ("3", "finished")


def test_markdown_tables_have_as_many_cells_in_every_line(found: Report) -> None:
    page = written(found, ".md")
    tables = re.findall(r"(?:^\|.*\|\n)+", page, re.MULTILINE)
    assert len(tables) == 4
    for table in tables:
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}) == 1
    assert "BLEU: nrefs:1|tok:13a" in page
    assert "| pending |" in page


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no pdflatex here: install TeX Live")
def test_the_document_of_the_docs_can_be_typeset(found: Report, tmp_path: Path) -> None:
    printable = "".join(map(chr, (*range(0x20, 0x7F), *range(0xA1, 0x180), 0x2028, 0x2192, 0x6771, 0x1F600)))
    remarks = (printable, "*a star", "[a bracket", *(f"{character}{character}" for character in printable))
    (document,) = re.findall(r"```latex\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)
    (tmp_path / "document.tex").write_text(document)
    for page in (dataclasses.replace(found, remarks=remarks), EMPTY):
        (tmp_path / "table3.tex").write_text(written(page, ".tex"), encoding="utf-8")
        said = subprocess.run(
            ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "document.tex"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=120,
            check=False,
        ).stdout
        assert "\n!" not in said, said[-2000:]
        assert "Output written on document.pdf" in said
        too_wide = re.sub(r"Overfull \\hbox .* in paragraph", "", said)  # of long words in the remarks
        assert "Overfull" not in too_wide, "no table is wider than its line"


def test_the_terminal_shows_the_same_rows(found: Report, capsys: pytest.CaptureFixture[str]) -> None:
    show(document(found), None)
    said = capsys.readouterr().out
    assert all(line.row.id in said for line in found.lines)
    assert "pending" in said
    assert "widened by the standard deviation between seeds" in said
    assert f"{found.lines[0].measured[Metric.ppl].value:.2f} ±" in said
