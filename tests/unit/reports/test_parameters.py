"""The audit says of each row what the model has, and how many of the paper's integers that reproduces."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from tiny import ARCHITECTURE

from aiayn.models.transformer import Transformer, count_parameters
from aiayn.paper.table3 import load_table3
from aiayn.reports.formats import markdown
from aiayn.reports.parameters import Audit, audit_parameters, document, report_parameters


@pytest.fixture(scope="module")
def audits() -> list[Audit]:
    return audit_parameters()


def test_every_row_is_audited_in_the_papers_order(audits: list[Audit]) -> None:
    assert [audit.row for audit in audits] == list(load_table3().rows)


def test_ten_of_the_eleven_printed_integers_are_reproduced(audits: list[Audit]) -> None:
    printed = [audit for audit in audits if audit.row.parameters.printed]
    assert len(printed) == 11
    assert [audit.row.id for audit in printed if not audit.matches(audit.code)] == ["big"]
    assert not any(audit.matches(audit.text) for audit in printed)


def test_a_blank_cell_is_bases_and_matches_nothing(audits: list[Audit]) -> None:
    base = load_table3().row("base").parameters
    blank = [audit for audit in audits if not audit.row.parameters.printed]
    assert len(blank) == len(audits) - 11
    assert {audit.printed for audit in blank} == {f"({base})"}
    assert {audit.matches(audit.code) for audit in blank} == {None}


def test_a_row_is_counted_as_the_model_that_its_settings_build(audits: list[Audit]) -> None:
    (audit,) = (audit for audit in audits if audit.row.id == "e_learned")
    with torch.device("meta"):
        architecture = replace(
            ARCHITECTURE,
            d_model=512,
            d_ff=2048,
            num_layers=6,
            num_heads=8,
            d_k=64,
            d_v=64,
            positions="learned",
            max_positions=1024,
        )
        model = Transformer(architecture, vocabulary_size=37_000)
    assert audit.text == count_parameters(model)


def test_both_forms_of_the_report_say_the_same(
    audits: list[Audit], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "parameters.md"
    report_parameters(path)
    assert capsys.readouterr().out == f"{path}\n"
    page = path.read_text()
    assert page == markdown(document(audits))
    monkeypatch.setenv("COLUMNS", "200")
    report_parameters(None)
    shown = capsys.readouterr().out
    for audit in audits:
        (row,) = (line for line in page.splitlines() if line.startswith(f"| {audit.row.id} |"))
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        assert cells[2] == audit.printed
        assert cells[4].startswith(f"{audit.code / 1e6:.1f}")
        assert cells[4].endswith("=") == bool(audit.matches(audit.code))
        assert any(line.split() == " ".join(cells).split() for line in shown.splitlines()), row
    summary = page.strip().splitlines()[-1].removeprefix("- ")
    assert "reproduce 10" in summary
    assert " ".join(summary.split()) in " ".join(shown.split())
