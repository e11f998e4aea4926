"""`aiayn report page` from real runs, once and while they go on."""

import html
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from aiayn.commands.front_end import main
from aiayn.data.preparation.prepared import find_prepared
from aiayn.runs.record import read_record


@pytest.mark.slow
def test_the_page_shows_a_run_and_its_translations(
    trained_run: Path,
    shared_cache: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["report", "page", f"paths.runs={trained_run.parents[2]}", f"paths.cache={shared_cache}"]
    assert main(words) == 0
    assert capsys.readouterr().out == "report.html\n"
    text = html.unescape((tmp_path / "report.html").read_text())
    record = read_record(trained_run / "run.json")
    assert record.command in text
    assert record.data_fingerprint is not None
    data = find_prepared(shared_cache, record.data_fingerprint)
    assert data is not None
    sources = data.split("dev").source_lines()
    assert sum(source in text for source in sources) == 9  # three of each kind
    assert f"{record.scores['dev'].ppl:.3f}" in text
    drawn = json.loads(text.partition('id="data">')[2].partition("</script>")[0])
    assert drawn["runs"][0]["curves"]["val/ppl"][0] == [6, 12]
    assert main([*words, "output=page.md"]) == 2
    assert capsys.readouterr().err == "aiayn: output=page.md: the suffix says the format; choose from .html, .htm\n"


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """`aiayn report page watch=true` in a process of its own, in the folder of the test."""
    (tmp_path / "runs").mkdir(exist_ok=True)
    command = [sys.executable, "-m", "aiayn", "report", "page", "output=live.html", "watch=true"]
    with subprocess.Popen(
        command, cwd=tmp_path, env=os.environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        yield process
        process.kill()


@pytest.mark.slow
def test_a_watched_page_follows_the_runs_and_ends_by_ctrl_c(
    watched: subprocess.Popen[str], tmp_path: Path, trained_run: Path
) -> None:
    page, name = tmp_path / "live.html", "mine/here"
    assert watched.stdout is not None
    assert watched.stdout.readline() == "live.html\n"
    assert 'data-refresh="15"' in page.read_text()
    assert name not in page.read_text()
    shutil.copytree(trained_run, tmp_path / "runs" / name, ignore=shutil.ignore_patterns("checkpoints"))
    deadline = time.monotonic() + 60
    while name not in page.read_text():
        if time.monotonic() > deadline:
            watched.send_signal(signal.SIGINT)
            pytest.fail(f"the page does not follow: {watched.communicate(timeout=120)}")
        time.sleep(0.2)
    watched.send_signal(signal.SIGINT)
    said, complaint = watched.communicate(timeout=120)
    assert (said, complaint) == ("", "live.html is as of now, and no longer kept up to date\n")
    assert watched.returncode == 0
    assert 'data-refresh=""' in page.read_text()
    assert name in page.read_text()
