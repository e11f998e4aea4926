"""The benchmarks' machinery, end to end on shapes that are too small to tell anything."""

from pathlib import Path

import pytest

import run


@pytest.mark.long
def test_a_quick_run_writes_the_page_with_our_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIAYN_CACHE", str(tmp_path / "cache"))
    output = tmp_path / "performance.md"
    assert run.main(["training", "--quick", "--output", str(output)]) == 0
    page = output.read_text(encoding="utf-8")
    assert "## Training" in page
    assert "| torch.nn.Transformer |" in page
    assert "| aiayn |" in page
    assert (tmp_path / "results" / "performance.json").is_file()
