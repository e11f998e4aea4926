"""The report says what the records say, in every format, and what is missing is pending."""

import csv
import dataclasses
import json
import math
import re
import shutil
import statistics
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from aiayn.paper.claims import Metric
from aiayn.paper.tables import load_table3
from aiayn.reports import formats
from aiayn.reports.comparability import ComparableRuns, comparable_runs
from aiayn.reports.formats import FORMATS, show
from aiayn.reports.tables.table3 import document
from aiayn.reports.tables.table3_results import Report, report_of
from aiayn.reports.tables.table3_rows import Line
from aiayn.reports.verdicts import Verdict
from aiayn.runs.ledger import read_results
from aiayn.runs.record import Status

MakeRun = Callable[..., Path]
TABLE = load_table3()
FLAT = {900: 8.0, 1000: 8.0}
"""A converged curve."""
DOCS = Path(__file__).parents[3] / "docs" / "tables.md"

EMPTY = report_of(ComparableRuns((), 0), Path("no-runs"))


def report(runs: Path, **choices: str) -> Report:
    chosen = dict.fromkeys(("scale", "data", "like")) | choices
    return report_of(comparable_runs(read_results(runs), runs, **chosen), runs)


def written(found: Report, suffix: str) -> str:
    return FORMATS[suffix](document(found))


def lines(found: Report) -> dict[str, Line]:
    return {line.row.id: line for line in found.lines}


@pytest.fixture(scope="module")
def found(make_run_in: MakeRun, tmp_path_factory: pytest.TempPathFactory) -> Report:
    """Of base and two rows with three seeds, one row with one, one failed, one half way."""
    runs = tmp_path_factory.mktemp("table3")
    for seed in (1, 2, 3):
        make_run_in(runs, "base", seed=seed, curve=FLAT)
        make_run_in(runs, "a_h32", seed=seed, nll=2.3, match=0.5, curve=FLAT)
        make_run_in(runs, "big", seed=seed, nll=1.7, match=0.9, curve=FLAT)
    make_run_in(runs, "d_ls0", nll=1.9, match=0.69, curve=FLAT)
    make_run_in(runs, "a_h1", status=Status.failed, scores={}, message="it diverged")
    make_run_in(runs, "base", seed=4, status=Status.interrupted, scores={})
    return report(runs)


def test_rows_are_in_the_papers_order_with_their_state(found: Report) -> None:
    assert [line.row.id for line in found.lines] == [row.id for row in TABLE.rows]
    states = {row_id: line.state for row_id, line in lines(found).items() if line.state != "pending"}
    assert states == {
        "base": "finished, 1 interrupted",
        "a_h32": "finished",
        "big": "finished",
        "d_ls0": "finished",
        "a_h1": "failed",
    }
    assert lines(found)["base"].seeds == (1, 2, 3)
    assert not lines(found)["a_h1"].measured
    assert any("it diverged" in remark for remark in found.remarks)
    assert len(found.runs) == 10


def test_values_differences_and_verdicts_follow_from_the_runs(found: Report) -> None:
    """A difference of perplexity is one of its logarithm, and one of BLEU plain."""
    logarithms = {
        row: statistics.fmean(math.log(run.dev.ppl) for run in found.finished if run.row.id == row and run.dev)
        for row in ("base", "a_h32")
    }
    for metric in Metric:
        base, small = (lines(found)[row].measured[metric] for row in ("base", "a_h32"))
        assert base.difference is None
        assert base.deviation
        assert small.difference is not None
        content = small.difference.content
        assert content.low is not None
        assert content.high is not None
        assert content.low < content.estimate < content.high
        is_ppl = metric is Metric.ppl
        difference = logarithms["a_h32"] - logarithms["base"] if is_ppl else small.value - base.value
        assert content.estimate == pytest.approx(difference)
        assert lines(found)["d_ls0"].measured[metric].deviation is None
    verdicts = {claim.claim.id: claim.verdict for claim in found.claims}
    assert verdicts["too_many_heads"] is Verdict.reproduced
    assert verdicts["label_smoothing"] is not Verdict.not_tested, "one seed of d_ls0 has the others' variance"
    for name in ("one_head", "more_layers", "big_is_best"):
        assert verdicts[name] is Verdict.not_tested
    assert "Not tested: big_is_best: no finished run of c_d1024." in written(found, ".md")


def test_at_the_papers_scale_values_of_bleu_are_by_the_definition_nearest_to_its_own(
    make_run: MakeRun, tmp_path: Path
) -> None:
    for seed, score in ((1, 26.0), (2, 27.0)):
        make_run("base", "scale=paper", seed=seed, matrix={"multi_bleu_split": score})
        make_run("a_h1", "scale=paper", seed=seed, match=0.6, matrix={"multi_bleu_split": score - 1})
    found = report(tmp_path / "runs")
    assert found.definition == "multi_bleu_split"
    assert [lines(found)[row].measured[Metric.bleu].value for row in ("base", "a_h1")] == [26.5, 25.5]
    page = written(found, ".md")
    assert "| ours (multi_bleu_split) |" in page
    assert "compounds split, quotes normalised, the definition nearest to the paper's" in page
    assert "in brackets" not in page, "sizes are the paper's"
    assert "| 100K |" in page
    difference = lines(found)["a_h1"].measured[Metric.bleu].difference
    assert difference is not None
    assert difference.estimate != pytest.approx(-1.0), "sacreBLEU's, whose statistics are kept by sentence"
    make_run("c_n2", "scale=paper")
    assert report(tmp_path / "runs").definition == "", "not all rows have it"


def test_a_base_that_did_not_learn_leaves_everything_untested(make_run: MakeRun, tmp_path: Path) -> None:
    for seed in (1, 2):
        make_run("base", seed=seed, match=0.0)
        make_run("a_h1", seed=seed, nll=2.5)
    found = report(tmp_path / "runs")
    assert {claim.verdict for claim in found.claims} == {Verdict.not_tested}
    (claim,) = (claim for claim in found.claims if claim.claim.id == "one_head")
    assert claim.reason.startswith("training failure: base has 0.")
    assert found.scope.endswith("test none of the paper's claims.")


def test_differences_need_base_intervals_two_seeds_and_orders_three_rows(make_run: MakeRun, tmp_path: Path) -> None:
    make_run("c_n2", nll=2.3, match=0.5)
    assert lines(report(tmp_path / "runs"))["c_n2"].measured[Metric.ppl].difference is None
    make_run("base")
    found = report(tmp_path / "runs")
    assert found.agreement is None
    difference = lines(found)["c_n2"].measured[Metric.ppl].difference
    assert difference is not None
    assert difference.estimate > 0
    assert difference.error is None
    assert not found.noises, "one seed each"
    make_run("big", nll=1.7, match=0.9)
    found = report(tmp_path / "runs")
    assert found.agreement is not None
    assert (found.agreement.pairs.pairs, found.agreement.pairs.concordant) == (3, 3)
    assert list(found.agreement.spearman.values()) == pytest.approx([1, 1])


@pytest.mark.parametrize("damage", ["", "torn"])
def test_damaged_sentences_are_named_in_one_line(make_run: MakeRun, tmp_path: Path, damage: str) -> None:
    (path,) = make_run("base").glob("evaluations/*/dev.sentences.jsonl")
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]) + damage)
    make_run("a_h1")
    found = report(tmp_path / "runs")
    (line,) = (line for line in found.remarks if line.startswith(f"left out: {path}"))
    assert "evaluate the run again" in line
    assert [run.row.id for run in found.finished] == ["a_h1"]


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
    small, missing = rows["a_h32"], rows["c_n4"]
    assert (small["change_paper"], small["change"]) == ("h=32, d_k=d_v=16", "h=32, d_k=d_v=4")
    assert (small["settings_paper"]["model.d_model"], small["settings"]["model.d_model"]) == (512, 128)
    assert small["ppl"] == lines(found)["a_h32"].measured[Metric.ppl].value
    assert small["ppl_difference_paper"] == pytest.approx(math.log(5.01 / 4.92), abs=1e-6)
    assert small["bleu_difference_paper"] == pytest.approx(25.4 - 25.8)
    assert (missing["change_paper"], missing["change"], missing["settings"]) == ("N=4", "", {})
    assert missing["bleu"] is None
    assert len(content["claims"]) == len(found.claims)
    assert content["agreement"]["spearman"].keys() == set(Metric)
    assert content["seed_noise"]["ppl"]["freedom"] == 6


@pytest.mark.parametrize("width", [80, 120])
def test_the_terminal_shows_the_rows_and_what_was_trained_at_any_width(
    found: Report, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    monkeypatch.setattr(formats, "WIDTH_OF_A_FILE", width)
    show(document(found), None)
    said = capsys.readouterr().out
    sizes = said[said.index("Settings of each row") : said.index("Differences to base")]
    assert max(map(len, sizes.splitlines())) <= width
    (line,) = (line for line in sizes.splitlines() if line.split()[:1] == ["a_h32"])
    assert line.split() == ["a_h32", "h=32,", "d_k=d_v=16", "h=32,", "d_k=d_v=4"]
    assert all(line.row.id in said for line in found.lines)
    assert "pending" in said
    assert "with the standard deviation between seeds" in said
    assert f"{found.lines[0].measured[Metric.ppl].value:.2f} ±" in said


def test_a_report_opens_with_what_its_runs_test(make_run: MakeRun, tmp_path: Path) -> None:
    counts = {"train": {"pairs": 100, "source_tokens": 1000, "target_tokens": 1000}}
    for row, seed in (("base", 1), ("base", 2), ("a_h1", 1), ("d_drop0", 1), ("d_ls0", 1), ("e_learned", 1)):
        make_run(row, seed=seed, curve=FLAT, tokens=6000, steps=1400, data_counts=counts)
    found = report(tmp_path / "runs")
    assert found.scope == (
        "These runs (scale nano, 1,400 steps, warm-up over 71% of them, 3.0 passes over the training data, "
        "1 to 2 seeds a row) test the paper's claims on heads, dropout and label smoothing, for models of their own "
        "size and budget."
    )
    (positions,) = (claim for claim in found.claims if claim.claim.id == "learned_positions")
    assert positions.reason.startswith("one_head is not reproduced")
    page = written(found, ".md")
    assert page.splitlines()[2] == found.scope
    assert f"Not tested: learned_positions: {positions.reason}." in page
    assert json.loads(written(found, ".json"))["scope"] == found.scope
    assert found.scope.partition("(")[0] in written(found, ".tex")


def test_runs_that_are_left_out_are_counted(make_run: MakeRun, tmp_path: Path) -> None:
    base, _ = make_run("base"), make_run("base", "optimization.adam_beta2=0.9", seed=2)
    remark = "runs of these rows left out, of another scale, corpus or configuration: 1"
    assert remark in report(tmp_path / "runs", like=str(base)).remarks


def test_changes_to_the_rows_experiments_are_named(make_run: MakeRun, tmp_path: Path) -> None:
    make_run("base", "model.attention=additive", difference="attention=additive")
    make_run("a_h1", "model.attention=additive", difference="attention=additive")
    remark = "Changed from the experiments of their rows, in 2 of 2 runs: attention=additive."
    assert remark in report(tmp_path / "runs").remarks


def test_a_report_names_its_commits_and_the_runs_of_each(make_run: MakeRun, tmp_path: Path) -> None:
    for row in ("base", "a_h1"):
        make_run(row, commit="a" * 40, dirty=False)
    assert f"code: commit {'a' * 12}" in report(tmp_path / "runs").remarks
    make_run("base", seed=2, commit="b" * 40, dirty=True)
    code = json.loads(written(report(tmp_path / "runs"), ".json"))["code"]
    assert [(each["commit"][0], each["dirty"], len(each["runs"])) for each in code] == [("a", False, 2), ("b", True, 1)]


def test_csv_and_markdown_have_every_row(found: Report) -> None:
    rows = list(csv.DictReader(written(found, ".csv").splitlines()))
    assert [row["row"] for row in rows] == [row.id for row in TABLE.rows]
    assert {row["BLEU"] for row in rows} == {"nrefs:1|tok:13a"}
    (big,) = (row for row in rows if row["row"] == "big")
    assert float(big["bleu"]) == lines(found)["big"].measured[Metric.bleu].value
    assert (big["seeds"], big["state"]) == ("3", "finished")
    page = written(found, ".md")
    assert len(re.findall(r"(?:^\|.*\|\n)+", page, re.MULTILINE)) == 6
    assert "BLEU: nrefs:1|tok:13a" in page
    assert "| pending |" in page


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no pdflatex here: install TeX Live")
def test_the_document_of_the_docs_can_be_typeset(found: Report, tmp_path: Path) -> None:
    printable = "".join(map(chr, (*range(0x20, 0x7F), *range(0xA1, 0x180), 0x2028, 0x2192, 0x6771, 0x1F600)))
    remarks = (printable, "*a star", "[a bracket", *(f"{character}{character}" for character in printable))
    (document,) = re.findall(r"```latex\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)
    (tmp_path / "document.tex").write_text(document)
    for page in (dataclasses.replace(found, own_remarks=remarks), EMPTY):
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
