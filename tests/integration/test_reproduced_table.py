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
    words = ("reproduce", "table3", *TINY, "logger=none", f"paths.cache={shared_cache}", "output=table3.json")
    rows = "experiment=table3/base,table3/d_drop0,table3/d_ls0"
    assert main([*words, "experiment=table3/base"]) == 0
    first = capfd.readouterr()
    assert "Table 3" in first.out
    assert rows_with_runs((tmp_path / "table3.json").read_text(encoding="utf-8")) == ["base"]
    kept = next(tmp_path.glob("runs/table3/base/*/run.json")).stat().st_mtime_ns
    assert main([*words, rows]) == 0
    assert next(tmp_path.glob("runs/table3/base/*/run.json")).stat().st_mtime_ns == kept, "not done again"
    found = rows_with_runs((tmp_path / "table3.json").read_text(encoding="utf-8"))
    assert found == ["base", "d_drop0", "d_ls0"]
    capfd.readouterr()
    assert main([*words, "experiment=table3/base,table3/e_learned", "model.num_layers=0"]) == 1
    said = capfd.readouterr()
    assert "aiayn: model.num_layers=0: must be at least 1" in said.err
    assert "Table 3" in said.out, "what is there is reported nevertheless"
    assert main([*words[:-1], rows, "format=json"]) == 0
    assert rows_with_runs(capfd.readouterr().out) == found


def rows_with_runs(text: str) -> list[str]:
    """The rows of which the document has runs."""
    return [row["row"] for row in read_document(text)["rows"] if row["seeds"]]
