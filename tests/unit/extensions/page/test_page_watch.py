"""A watched page ends as a page that does not reload."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from aiayn.commands.front_end import main
from aiayn.extensions.page.writing import POLL_SECONDS


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

    monkeypatch.setattr("aiayn.extensions.page.writing.time.sleep", interrupted)
    words = [f"paths.runs={tmp_path / 'runs'}", f"paths.cache={tmp_path}", f"output={output}"]
    assert main(["report", "page", "watch=true", *words]) == 0
    message = capsys.readouterr().err
    assert message.startswith("model.dropout differs, ")
    assert message.endswith(f"; {output} stays as it was, and is no longer kept up to date\n")
    text = output.read_text()
    assert 'data-refresh=""' in text
    assert "table3/base" in text


def test_a_complaint_is_logged_again_after_the_runs_could_be_read(
    make_run: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    base = make_run("base")
    states = iter(("differs", "is gone", "differs", "end"))

    def sleep(seconds: float) -> None:
        """Before each look, there is another run of other settings, none, and one again."""
        state = next(states) if seconds == POLL_SECONDS else ""
        if state == "differs":
            other.append(make_run("a_h1", "model.dropout=0.0"))
        elif state == "is gone":
            shutil.rmtree(other.pop())
            (base / "run.json").touch()
        elif state == "end":
            raise KeyboardInterrupt

    other: list[Path] = []
    monkeypatch.setattr("aiayn.extensions.page.writing.time.sleep", sleep)
    words = [f"paths.runs={tmp_path / 'runs'}", f"paths.cache={tmp_path}", f"output={tmp_path / 'live.html'}"]
    assert main(["report", "page", "watch=true", *words]) == 0
    first, second = (
        line for line in capsys.readouterr().err.splitlines() if line.endswith("; the page stays as it was")
    )
    assert first == second
