"""Table 2 with ours beside the paper's: definitions never mixed, and nothing said that does not compare."""

import json
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from aiayn.commands.front_end import main
from aiayn.errors import UserError
from aiayn.paper.tables import load_table2
from aiayn.reports.tables.table2 import Table2Report, grids, read_table2, remarks
from aiayn.reports.tables.table2_claims import JudgedTable2Claim
from aiayn.reports.verdicts import Verdict
from aiayn.runs.cost import Attempt, Devices, RunCost
from aiayn.runs.record import Status

MakeRun = Callable[..., Path]

MATRIX = {"multi_bleu": 26.5, "multi_bleu_split": 27.25, "bleu_intl": 28.5}

COST, DEAR = (
    RunCost.of([Attempt(started=None, devices=(Devices("Tesla P100", 8, 9.5e12),), training_seconds=hours * 3600.0)])
    for hours in (12, 96)
)


@pytest.fixture
def make_table2(make_run: MakeRun) -> MakeRun:
    return partial(make_run, split="test", matrix=MATRIX, averaged_steps=(8, 10, 12))


def read(folder: Path, scale: str | None = None, data: str | None = None) -> Table2Report:
    return read_table2(folder / "runs", scale=scale, data=data)


def systems(report: Table2Report) -> dict[str, tuple[str, ...]]:
    table = next(grids(report))
    return {line[0]: line[1:] for group in table.groups for line in group}


def test_all_ten_systems_stand_as_printed_with_or_without_ours(tmp_path: Path, make_table2: MakeRun) -> None:
    for _ in range(2):
        lines = systems(read(tmp_path))
        assert list(lines) == [system.label for system in load_table2().rows]
        for system in load_table2().rows:
            printed = (system.en_de, system.en_fr, system.flops_en_de, system.flops_en_fr)
            assert lines[system.label][::2] == tuple(map(str, printed))
        make_table2("table2/base_en_de")


def test_beside_the_paper_stands_its_definition_alone(tmp_path: Path, make_table2: MakeRun) -> None:
    make_table2("table2/base_en_de", cost=COST)
    make_table2("table2/big_en_fr", cost=COST)
    lines = systems(read(tmp_path))
    assert lines["Transformer (base model)"][1:8:2] == ("27.25 *", "", "3.3e18", "")
    assert lines["Transformer (big)"][1:8:2] == ("", "26.50 *", "", "3.3e18"), "French has no compounds to split"
    (definitions,) = (grid for grid in grids(read(tmp_path)) if "by definition" in grid.title)
    assert definitions.headings == ("<definition", "base_en_de", "big_en_fr")
    assert {line[0]: line[1:] for group in definitions.groups for line in group}["sacreBLEU intl"] == ("28.50", "28.50")


def test_a_run_without_that_definition_leaves_its_place_blank(tmp_path: Path, make_table2: MakeRun) -> None:
    folder = make_table2("table2/base_en_de", matrix={}, averaged_steps=())
    assert systems(read(tmp_path))["Transformer (base model)"][1] == ""
    said = list(remarks(read(tmp_path)))
    assert any("beside the paper's stands not recorded" in line for line in said)
    assert f"{folder}: the last weights, not an average" in said


def test_what_is_not_finished_says_so(tmp_path: Path, make_table2: MakeRun) -> None:
    make_table2("table2/big_en_de", status=Status.interrupted, scores={})
    assert systems(read(tmp_path))["Transformer (big)"][1] == "interrupted"
    assert list(remarks(read(tmp_path))) == ["no run has finished: aiayn reproduce table2 does them"]


def test_other_data_than_the_papers_is_told(tmp_path: Path, make_table2: MakeRun) -> None:
    make_table2("table2/base_en_de", data="wmt14_en_de", sentences=3003)
    assert not any("not newstest2014" in line for line in remarks(read(tmp_path)))
    assert systems(read(tmp_path))["Transformer (base model)"][1] == "27.25 *"
    said = list(remarks(read(tmp_path)))
    assert "* EN-DE: not of the paper's scale, so ours are not the paper's models" in said
    (sizes,) = (line for line in said if line.startswith("table2/base_en_de: trained here with "))
    assert "d_model=128" in sizes
    assert sizes.endswith("; in the paper with N=6, d_model=512, d_ff=2048, d_k=d_v=64, steps=100K")
    make_table2("table2/big_en_de", data="grammar", sentences=3003)
    assert any(
        line == "* EN-DE: not newstest2014, so ours do not compare with the paper's column"
        for line in remarks(read(tmp_path))
    )


def judged(folder: Path, claim: str) -> JudgedTable2Claim:
    return next(each for each in read(folder).claims if each.claim.id == claim)


def test_big_against_base_is_judged_on_any_data(tmp_path: Path, make_table2: MakeRun) -> None:
    """A comparison that is not tested leaves its claim untested, whatever the others say."""
    make_table2("table2/base_en_de", match=0.7)
    assert {each.verdict for each in judged(tmp_path, "big_over_base").comparisons} == {Verdict.not_tested}
    make_table2("table2/big_en_de", match=0.5)
    german, french = judged(tmp_path, "big_over_base").comparisons
    assert (german.verdict, german.reason) == (Verdict.not_tested, "no model has two seeds")
    assert (german.paper, german.ours[0]) == ("+1.1", "−")
    assert "[" not in german.ours, "without two seeds there is no interval"
    for model, match in (("base", 0.7), ("big", 0.5)):
        make_table2(f"table2/{model}_en_de", match=match, seed=2)
    german, french = judged(tmp_path, "big_over_base").comparisons
    assert (german.verdict, french.verdict) == (Verdict.contradicted, Verdict.not_tested)
    assert "[" in german.ours
    assert french.reason == "no finished run"
    assert judged(tmp_path, "big_over_base").verdict is Verdict.not_tested, "French is missing"
    for model, match in (("base", 0.5), ("big", 0.7)):
        for seed in (1, 2):
            make_table2(f"table2/{model}_en_fr", match=match, seed=seed)
    whole = judged(tmp_path, "big_over_base")
    assert (whole.comparisons[1].verdict, whole.verdict) == (Verdict.reproduced, Verdict.contradicted)


@pytest.mark.parametrize(
    ("scale", "bleu", "cost", "verdicts"),
    [
        ("paper", 60.0, COST, [Verdict.reproduced, Verdict.reproduced]),  # 3.3e18 against ConvS2S's 9.6e18
        ("paper", 26.4, COST, [Verdict.undecided, Verdict.reproduced]),
        ("paper", 1.0, DEAR, [Verdict.contradicted, Verdict.contradicted]),
        ("nano", 60.0, COST, [Verdict.not_tested, Verdict.not_tested]),
    ],
)
def test_printed_numbers_are_compared_by_the_papers_definition_at_its_own_scale(
    tmp_path: Path, make_table2: MakeRun, scale: str, bleu: float, cost: RunCost, verdicts: list[Verdict]
) -> None:
    printed = partial(make_table2, cost=cost, data="wmt14_en_de", sentences=3003, matrix={"multi_bleu_split": bleu})
    for seed in (1, 2, 3, 4):
        printed("table2/base_en_de", f"scale={scale}", seed=seed)
    names = ("base_over_published", "base_at_a_fraction")
    assert [judged(tmp_path, claim).verdict for claim in names] == verdicts
    reasons = {each.reason for claim in names for each in judged(tmp_path, claim).comparisons}
    assert reasons == {"" if scale == "paper" else "these runs do not compare with printed numbers"}
    (by_two_points,) = judged(tmp_path, "big_by_two_points").comparisons
    assert by_two_points.reason == "no finished run"


def test_runs_that_do_not_compare_are_refused_until_one_kind_is_chosen(tmp_path: Path, make_table2: MakeRun) -> None:
    make_table2("table2/base_en_de")
    make_table2("table2/big_en_de", "scale=demo")
    with pytest.raises(UserError, match=r"^scale differs, demo in .* and nano in .*: choose with only\.scale="):
        read(tmp_path)
    assert len(read(tmp_path, scale="nano").runs) == 1
    make_table2("table2/big_en_de", data_fingerprint="e" * 64)
    with pytest.raises(UserError, match=r"^data differs, "):
        read(tmp_path, scale="nano")
    assert len(read(tmp_path, scale="nano", data="eeee").runs) == 1


def test_one_seed_twice_is_refused(tmp_path: Path, make_table2: MakeRun) -> None:
    run = make_table2("table2/base_en_de")
    shutil.copytree(run, run.with_name("copied"))
    with pytest.raises(UserError, match=r"^seed 1 of table2/base_en_de is there more than once, in "):
        read(tmp_path)


@pytest.mark.parametrize(
    ("row", "override", "changes", "key"),
    [
        ("base_en_de", "model.dropout=0.3", {}, "model.dropout"),
        ("base_en_de", "fidelity=tensor2tensor_2017", {}, ""),
        ("base_en_de", "averaging.checkpoints=3", {}, "averaging.checkpoints"),
        ("big_en_de", "optimization.label_smoothing=0.0", {}, "optimization.label_smoothing"),
        ("big_en_de", None, {"sentences": 40}, "number of test sentences"),
        ("big_en_de", None, {"signature": "nrefs:1|tok:intl"}, "BLEU"),
    ],
)
def test_settings_that_the_paper_does_not_vary_and_tests_of_another_kind_are_not_mixed(
    tmp_path: Path, make_table2: MakeRun, row: str, override: str | None, changes: dict[str, Any], key: str
) -> None:
    make_table2("table2/base_en_de")
    make_table2("table2/big_en_de")
    assert len(read(tmp_path).runs) == 2, "base and big differ in what the paper prints, and share a column"
    make_table2(f"table2/{row}", *([override] if override else []), seed=2, **changes)
    with pytest.raises(UserError, match=rf"^{key}.* differs, .*: no column holds both"):
        read(tmp_path)


def test_every_format_has_all_of_it(tmp_path: Path, make_table2: MakeRun, capsys: pytest.CaptureFixture[str]) -> None:
    folder = make_table2("table2/base_en_de", cost=COST)
    words = ["report", "table2", f"paths.runs={tmp_path / 'runs'}"]
    for suffix in (".md", ".tex", ".json"):
        assert main([*words, f"output={tmp_path / 'table2'}{suffix}"]) == 0
    markdown = (tmp_path / "table2.md").read_text(encoding="utf-8")
    assert "| Transformer (base model) | 27.3 | 27.25 * | 38.1 |  | 3.3e18 | 3.3e18 |" in markdown
    assert str(folder) in markdown
    content = json.loads((tmp_path / "table2.json").read_text(encoding="utf-8"))
    assert content["paper"]["transformer_big"]["en_de"] == 28.4
    assert content["ours"][0]["scores"]["multi_bleu_split"] == {"score": 27.25, "signature": "multi_bleu_split:1"}
    assert {each["id"]: each["verdict"] for each in content["claims"]}["big_over_base"] == "not tested"
    assert "Not tested: big_over_base: no finished run." in markdown
    assert "| base_over_published |" in markdown
    assert "GNMT + RL" in (tmp_path / "table2.tex").read_text(encoding="utf-8")
    capsys.readouterr()
    assert main(words) == 0
    assert "27.25" in capsys.readouterr().out
