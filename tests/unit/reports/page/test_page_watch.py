"""A watched page ends as a page that does not reload."""

from collections.abc import Callable
from pathlib import Path

import pytest

from aiayn.commands.front_end import main


def test_where_the_runs_no_longer_compare_the_last_page_stays(
    make_run: Callable[..., Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    make_run("base")
    output = tmp_path / "live.html"

    def interrupted(_: float) -> None:
        assert 'data-refresh="15"' in output.read_text()
        make_run("a_h1", "model.dropout=0.0")
        raise KeyboardInterrupt

    monkeypatch.setattr("aiayn.reports.page.writing.time.sleep", interrupted)
    words = [f"paths.runs={tmp_path / 'runs'}", f"paths.cache={tmp_path}", f"output={output}"]
    assert main(["report", "page", "watch=true", *words]) == 0
    message = capsys.readouterr().err
    assert message.startswith("model.dropout differs, ")
    assert message.endswith(f"; {output} stays as it was, and is no longer kept up to date\n")
    text = output.read_text()
    assert 'data-refresh=""' in text
    assert "table3/base" in text
