"""The files of runs, as tests read them."""

import json
import shutil
from pathlib import Path
from typing import Any

import torch

from aiayn.runs.record import Status, read_record


def runs_below(runs: Path) -> list[Path]:
    """The run directories below `paths.runs`, sorted."""
    return sorted(record.parent for record in runs.glob("*/*/*/run.json"))


def only_run(runs: Path) -> Path:
    (run,) = runs_below(runs)
    return run


def copied_run(run: Path, runs: Path) -> Path:
    """A copy of a run at its own place below another `paths.runs`."""
    return Path(shutil.copytree(run, runs / run.relative_to(run.parents[2]), symlinks=True))


def metrics(run: Path) -> list[dict[str, Any]]:
    """The lines of metrics.jsonl."""
    return [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]


def losses(run: Path) -> dict[int, float]:
    """The training losses by step."""
    return {row["step"]: row["train/loss"] for row in metrics(run) if "train/loss" in row}


def timeless_metrics(run: Path, *, but: str = "") -> list[dict[str, float]]:
    """The metrics without those that depend on the clock, and without one more key."""
    return [{key: value for key, value in row.items() if "second" not in key and key != but} for row in metrics(run)]


def last_checkpoint(run: Path) -> dict[str, Any]:
    content: dict[str, Any] = torch.load(max((run / "checkpoints").glob("step-*.ckpt")), weights_only=True)
    return content


def assert_same_end(run: Path, other: Path, *, but: str = "") -> None:
    """Both finished, with the same metrics (but one), weights, moments of Adam, counters and scores, bit for bit."""
    own_record, other_record = (read_record(each / "run.json") for each in (run, other))
    assert own_record.status is other_record.status is Status.finished
    assert timeless_metrics(run, but=but) == timeless_metrics(other, but=but)
    own, theirs = last_checkpoint(run), last_checkpoint(other)
    for key in ("state_dict", "optimizer_states", "lr_schedulers", "global_step"):
        torch.testing.assert_close(own[key], theirs[key], rtol=0, atol=0)
    assert {**own["aiayn"]["progress"], "seconds": 0} == {**theirs["aiayn"]["progress"], "seconds": 0}
    for split in ("dev", "test"):
        assert own_record.scores[split].ppl == other_record.scores[split].ppl
        assert own_record.scores[split].bleu == other_record.scores[split].bleu


def add_random_checkpoint(run: Path, *, deviation: float = 0.5) -> None:
    """Add a checkpoint of step 1 to a tiny run, with random matrices, which tell sentences apart.

    With a small deviation all tokens are about as likely, so that searches differ; with a large one outputs repeat a
    token.
    """
    checkpoint = torch.load(run / "checkpoints" / "step-0000012.ckpt", weights_only=True)
    randomness = torch.Generator().manual_seed(1)
    for weight in checkpoint["state_dict"].values():
        if weight.dim() == 2:
            weight.normal_(std=deviation, generator=randomness)
    torch.save(checkpoint, run / "checkpoints" / "step-0000001.ckpt")
