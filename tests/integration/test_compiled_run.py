"""`launch.compile=true` is the same run, made by other code."""

import json
import shutil
from pathlib import Path

import pytest
from commands import Train, signal_at
from run_files import assert_same_end, losses, only_run

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(shutil.which("g++") is None, reason="compiling takes a compiler"),
    pytest.mark.filterwarnings(
        "ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::UserWarning"
    ),  # Inductor's
]

OF_SEVERAL_BUCKETS = ("model.d_model=768", "model.d_ff=3072", "optimization.max_steps=4")
"""Over 25 MB of gradients, which DDP reduces in several buckets."""


@pytest.mark.parametrize("words", [(), ("trainer.devices=2", *OF_SEVERAL_BUCKETS)])
def test_a_compiled_run_has_the_losses_of_a_plain_one(train: Train, tmp_path: Path, words: tuple[str, ...]) -> None:
    counter = f"+callbacks.counter={{_target_: observers.BroadcastCounter, folder: {tmp_path / 'broadcasts'}}}"
    for name in ("true", "false"):
        assert train(f"launch.compile={name}", "model.dropout=0", f"paths.runs={tmp_path / name}", counter, *words) == 0
    compiled, plain = (losses(only_run(tmp_path / name)) for name in ("true", "false"))
    assert len(plain) == (4 if words else 12)
    assert compiled == pytest.approx(plain, rel=1e-4)
    counts = [json.loads(path.read_text()) for path in (tmp_path / "broadcasts").iterdir()]
    assert counts == [0] * (2 if words else 1), "Lightning broadcasts at every micro-batch, for which all ranks wait"


def test_an_interrupted_compiled_run_resumes_exactly(train: Train, tmp_path: Path) -> None:
    words = ("launch.compile=true", "optimization.max_tokens_per_device=200")  # several micro-batches a step
    assert train(*words, "paths.runs=whole") == 0
    assert train(*words, "paths.runs=cut", signal_at(10)) == 1
    assert train(*words, "paths.runs=cut") == 0
    assert_same_end(only_run(tmp_path / "cut"), only_run(tmp_path / "whole"))
