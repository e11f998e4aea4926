"""Table 3 from real runs, while the sweep is under way."""

import json
from pathlib import Path

import pytest
from commands import Finished
from run_files import copied_run

from aiayn.commands.front_end import main
from aiayn.paper.tables import load_table3
from aiayn.runs.record import read_record


@pytest.mark.slow
def test_two_finished_runs_make_a_half_finished_table(
    finished: Finished, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for words in ((), ("experiment=table3/d_ls0",)):
        copied_run(finished(*words), tmp_path / "runs")
    capsys.readouterr()
    for name in ("table3.json", "table3.tex"):
        assert main(["report", "table3", f"output={name}"]) == 0
        assert capsys.readouterr().out == f"{name}\n"
        assert "pending" in (tmp_path / name).read_text()
    content = json.loads((tmp_path / "table3.json").read_text())
    states = {row["row"]: row["state"] for row in content["rows"]}
    assert {row for row, state in states.items() if state == "finished"} == {"base", "d_ls0"}
    assert set(states) == {row.id for row in load_table3().rows}
    for row in content["rows"]:
        for path in (tmp_path / "runs" / "table3" / row["row"]).glob("*/run.json"):
            dev = read_record(path).scores["dev"]  # from the corpus as a whole, not from its sentences
            assert (row["ppl"], row["bleu"]) == pytest.approx((dev.ppl, dev.quality.score))
