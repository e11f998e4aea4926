"""The platform in one file: train, interrupt, resume, evaluate, translate, report. `make smoke` runs it alone."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from tiny import TINY

pytestmark = pytest.mark.smoke

AIAYN = (sys.executable, "-m", "aiayn")
STEPS = 60


def aiayn(folder: Path, *words: str, text: str | None = None) -> str:
    """Run a command in a folder, which must succeed; returns its standard output."""
    done = subprocess.run([*AIAYN, *words], cwd=folder, input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def losses(run: Path) -> list[float]:
    """The training loss of each optimizer step."""
    rows = map(json.loads, (run / "metrics.jsonl").read_text().splitlines())
    return [row["train/loss"] for row in rows if "train/loss" in row]


def interrupted(folder: Path, words: Sequence[str], *, after_step: int) -> Path:
    """Start a training, press Ctrl-C once it has passed a step, and return its run directory."""
    with subprocess.Popen([*AIAYN, *words], cwd=folder, stderr=subprocess.PIPE, text=True) as process:
        metrics: list[Path] = []
        while not metrics or len(metrics[0].read_text().splitlines()) < after_step:
            assert process.poll() is None, process.communicate()[1]
            time.sleep(0.05)
            metrics = list(folder.glob("runs/*/*/*/metrics.jsonl"))
        process.send_signal(signal.SIGINT)
        process.communicate()
    assert process.returncode == 1
    run = metrics[0].parent
    assert json.loads((run / "run.json").read_text())["status"] == "interrupted"
    return run


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty folder; runs/ and cache/ appear in it."""
    return tmp_path_factory.mktemp("smoke")


@pytest.fixture(scope="module")
def run(folder: Path) -> Path:
    """A run that was interrupted and resumed: the same command goes on where it stopped."""
    words = ["train", "experiment=table3/base", "scale=demo", *TINY, f"optimization.max_steps={STEPS}", "logger=none"]
    run = interrupted(folder, words, after_step=3)
    begun = losses(run)
    assert len(begun) < STEPS
    assert "this run" in aiayn(folder, *words)
    assert len(losses(run)) == STEPS
    assert losses(run)[: len(begun)] == begun, "the steps before the interruption are kept"
    return run


def test_a_run_records_its_scores(run: Path) -> None:
    record = json.loads((run / "run.json").read_text())
    assert record["status"] == "finished"
    assert record["steps"] == STEPS
    assert record["scores"]["dev"]["ppl"] > 1
    assert "tok:13a" in record["scores"]["test"]["bleu"]["signature"]


def test_training_lowers_the_loss(run: Path) -> None:
    assert sum(losses(run)[-5:]) < sum(losses(run)[:5])


def test_a_checkpoint_is_evaluated_with_another_search(folder: Path, run: Path) -> None:
    aiayn(folder, "evaluate", f"run={run}", "checkpoint=best", "decoding.beam_size=1")
    assert list(run.glob("evaluations/*-beam1-*/test.hypotheses.txt"))


def test_every_line_is_translated(folder: Path, run: Path) -> None:
    answer = aiayn(folder, "translate", f"run={run}", text="The dog sleeps.\nThe cat sees the dog.\n")
    assert answer.count("\n") == 2


def test_the_report_shows_the_run_beside_the_paper(folder: Path, run: Path) -> None:
    report = folder / "table3.md"
    aiayn(folder, "report", "table3", f"output={report}")
    assert "4.92" in report.read_text()
    assert f"{json.loads((run / 'run.json').read_text())['scores']['dev']['ppl']:.2f}" in report.read_text()
