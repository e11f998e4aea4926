"""`launch.compile=true` is the same run, made by other code; also with `launch.static_shapes=true`."""

import json
import shutil
from pathlib import Path

import pytest
import torch
from commands import Train, signal_at
from run_files import assert_same_end, last_checkpoint, losses, only_run
from torch._dynamo.utils import counters

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


STATIC = ("launch.compile=true", "launch.static_shapes=true")
SMALL_PARTS = "optimization.max_tokens_per_device=200"


@pytest.mark.parametrize("words", [(), ("trainer.devices=2",)])
def test_static_shapes_leave_losses_and_counts_and_need_one_graph_of_the_model(
    train: Train, tmp_path: Path, words: tuple[str, ...]
) -> None:
    torch.compiler.reset()
    counters.clear()
    for name, settings in ("static", STATIC), ("plain", ()):
        assert train(*settings, "model.dropout=0", SMALL_PARTS, f"paths.runs={name}", *words) == 0
    static, plain = (only_run(tmp_path / name) for name in ("static", "plain"))
    assert losses(static) == pytest.approx(losses(plain), rel=1e-4)
    own, theirs = ({**last_checkpoint(run)["aiayn"]["progress"], "seconds": 0} for run in (static, plain))
    assert own == pytest.approx(theirs, rel=1e-4)
    assert own["source_tokens"] == theirs["source_tokens"]
    assert own["target_tokens"] == theirs["target_tokens"]
    if not words:  # otherwise other processes train
        assert counters["stats"]["unique_graphs"] == 2  # the model's and that of the loss


def test_an_interrupted_run_of_static_shapes_resumes_exactly(train: Train, tmp_path: Path) -> None:
    assert train(*STATIC, SMALL_PARTS, "paths.runs=whole") == 0
    assert train(*STATIC, SMALL_PARTS, "paths.runs=cut", signal_at(10)) == 1
    assert train(*STATIC, SMALL_PARTS, "paths.runs=cut") == 0
    assert_same_end(only_run(tmp_path / "cut"), only_run(tmp_path / "whole"))
