"""What two runs are compared by."""

import json
from pathlib import Path
from typing import Any

import torch

from aiayn.runs.record import Status, read_record


def measured(run: Path, *, but: str = "") -> list[dict[str, float]]:
    """A run's lines of metrics, but for what depends on the clock, and one more key."""
    rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    return [{key: value for key, value in row.items() if "second" not in key and key != but} for row in rows]


def assert_same_end(run: Path, other: Path, *, but: str = "") -> None:
    """Both finished, with the same metrics (but one), weights, moments of Adam, counters and scores, bit for bit."""
    for each in (run, other):
        assert read_record(each / "run.json").status is Status.finished
    assert measured(run, but=but) == measured(other, but=but)
    own, theirs = last_checkpoint(run), last_checkpoint(other)
    for key in ("state_dict", "optimizer_states", "lr_schedulers", "global_step"):
        torch.testing.assert_close(own[key], theirs[key], rtol=0, atol=0)
    assert {**own["aiayn"]["progress"], "seconds": 0} == {**theirs["aiayn"]["progress"], "seconds": 0}
    scores = [read_record(each / "run.json").scores for each in (run, other)]
    for split in ("dev", "test"):
        assert scores[0][split].ppl == scores[1][split].ppl
        assert scores[0][split].bleu == scores[1][split].bleu


def last_checkpoint(run: Path) -> dict[str, Any]:
    content: dict[str, Any] = torch.load(max((run / "checkpoints").glob("step-*.ckpt")), weights_only=True)
    return content
