"""A table of the paper in one command, which goes on where it was."""

from pathlib import Path

import pytest
from json_documents import read_document
from tiny import TINY

from aiayn.commands.front_end import main


@pytest.mark.long
def test_a_table_in_one_command(
    tmp_path: Path, shared_cache: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ("reproduce", "table3", *TINY, "logger=none", f"paths.cache={shared_cache}", "output=table3.md")
    rows = "experiment=table3/base,table3/d_drop0,table3/d_ls0"
    assert main([*words, "experiment=table3/base"]) == 0
    first = capfd.readouterr()
    assert "Table 3" in first.out
    before = (tmp_path / "table3.md").read_text(encoding="utf-8")
    kept = next(tmp_path.glob("runs/table3/base/*/run.json")).stat().st_mtime_ns
    assert main([*words, rows]) == 0
    assert next(tmp_path.glob("runs/table3/base/*/run.json")).stat().st_mtime_ns == kept, "not done again"
    after = (tmp_path / "table3.md").read_text(encoding="utf-8")
    assert len(after.split("finished")) >= len(before.split("finished"))
    assert after != before
    capfd.readouterr()
    assert main([*words, "experiment=table3/base,table3/e_learned", "model.num_layers=0"]) == 1
    said = capfd.readouterr()
    assert "aiayn: model.num_layers=0: must be at least 1" in said.err
    assert "Table 3" in said.out, "what is there is reported nevertheless"
    assert main([*words[:-1], rows, "format=json"]) == 0
    rows_in = {row["row"]: row["seeds"] for row in read_document(capfd.readouterr().out)["rows"]}
    assert [row for row, seeds in rows_in.items() if seeds] == ["base", "d_drop0", "d_ls0"]
