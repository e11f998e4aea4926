"""`launch.compile=true` is the same run, made by other code."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

Train = Callable[..., int]


def losses(runs: Path) -> list[float]:
    (metrics,) = runs.glob("*/*/*/metrics.jsonl")
    lines = [json.loads(line) for line in metrics.read_text(encoding="utf-8").splitlines()]
    return [line["train/loss"] for line in lines if "train/loss" in line]


@pytest.mark.long
@pytest.mark.skipif(shutil.which("g++") is None, reason="compiling takes a compiler")
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::UserWarning")  # Inductor's
def test_a_compiled_run_has_the_losses_of_a_plain_one(train: Train, tmp_path: Path) -> None:
    for name in ("true", "false"):
        assert train(f"launch.compile={name}", "model.dropout=0", f"paths.runs={tmp_path / name}") == 0
    compiled, plain = losses(tmp_path / "true"), losses(tmp_path / "false")
    assert len(plain) == 12
    assert compiled == pytest.approx(plain, rel=1e-4)
