"""Published scores of other work stand beside those of the runs that reproduce them."""

import json
import shutil
import statistics
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from aiayn.commands.front_end import main
from aiayn.config.store import options
from aiayn.evaluation.matrix import TITLES
from aiayn.evaluation.significance import Effect
from aiayn.reports.reproductions import difference, load_published

MakeRun = Callable[..., Path]

EXPERIMENT = "multi30k/transformer_tiny"
SCORES = (40.5, 41.5, 41.0)


@pytest.fixture
def runs(make_run: MakeRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three seeds of the experiment, in `runs` below the working directory."""
    monkeypatch.chdir(tmp_path)
    for seed, score in enumerate(SCORES, start=1):
        matrix = {"bleu_none": score, "multi_bleu_none": score, "bleu_detokenized": score - 2}
        make_run(EXPERIMENT, seed=seed, split="test", matrix=matrix)
    return tmp_path / "runs"


def test_every_published_score_has_an_experiment_and_a_known_definition() -> None:
    for experiment, published in load_published().items():
        assert experiment in options("experiment")
        assert published.definition in TITLES


def test_the_mean_is_compared_by_the_published_definition(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "reproductions", f"paths.runs={runs}", "output=page.md"]) == 0
    capsys.readouterr()
    page = Path("page.md").read_text(encoding="utf-8")
    half_width = stats.t.ppf(0.975, 2) * statistics.stdev(SCORES) * (4 / 3) ** 0.5
    low, high = (f"{-0.02 + side * half_width:+.2f}".replace("-", "\u2212") for side in (-1, 1))
    assert f"| {EXPERIMENT} | 41.02 | 41.00 \u00b1 0.50 | 3 | \u22120.02 [{low}, {high}] |" in page
    assert f"| {TITLES['bleu_detokenized']} | 39.00 \u00b1 0.50 |  |" in page
    assert "contains 0" in page


def test_the_page_is_made_again_from_its_publication(runs: Path, tmp_path: Path) -> None:
    assert main(["report", "reproductions", "publish=published"]) == 0
    page = (tmp_path / "published" / "README.md").read_text(encoding="utf-8")
    shutil.rmtree(runs)
    assert main(["report", "reproductions", "from=published", "output=again.md"]) == 0
    assert (tmp_path / "again.md").read_text(encoding="utf-8") == page


def test_one_seed_has_no_interval(make_run: MakeRun, tmp_path: Path) -> None:
    make_run(EXPERIMENT, split="test", matrix={"multi_bleu_none": 40.02})
    output = tmp_path / "page.json"
    assert main(["report", "reproductions", f"paths.runs={tmp_path / 'runs'}", f"output={output}"]) == 0
    (found,) = json.loads(output.read_text())["reproductions"]
    assert found["difference"] == {
        "estimate": pytest.approx(-1.0),
        **dict.fromkeys(("low", "high", "standard_error")),
        "confidence": 0.95,
    }


def test_without_runs_the_score_is_pending(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "runs").mkdir()
    assert main(["report", "reproductions", f"paths.runs={tmp_path / 'runs'}"]) == 0
    assert "pending" in capsys.readouterr().out


def test_runs_without_the_published_definition_are_refused(
    make_run: MakeRun, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = make_run(EXPERIMENT, split="test", matrix={"bleu": 40.0})
    assert main(["report", "reproductions", f"paths.runs={tmp_path / 'runs'}"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"aiayn: {run}: has no score by multi_bleu_none")


@given(st.integers(2, 6), st.integers(0, 2**32 - 1))
def test_the_interval_covers_a_run_of_the_same_recipe(count: int, seed: int) -> None:
    """In 95% of cases; here in at least 88% of 400, six standard deviations below."""
    draws = np.random.default_rng(seed).normal(41.0, 0.4, (400, count + 1))
    found = [difference(list(ours), theirs) for *ours, theirs in draws]
    covered = np.mean([_contains_zero(each) for each in found])
    assert covered >= 0.88


def _contains_zero(effect: Effect) -> bool:
    assert effect.low is not None
    assert effect.high is not None
    return effect.low <= 0 <= effect.high
