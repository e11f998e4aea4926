"""Forked jobs give the results of fresh processes."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from commands import CommandLine

from aiayn.runs.directory import RunDirectory
from aiayn.runs.record import Record, Status, read_record


def runs(folder: Path) -> dict[str, RunDirectory]:
    return {path.parent.name: RunDirectory(path.parent) for path in folder.glob("*/*/*/run.json")}


def content(run: RunDirectory) -> tuple[dict[str, torch.Tensor], Record]:
    newest = max(run.checkpoints.glob("step-*.ckpt"))
    return torch.load(newest, weights_only=True)["state_dict"], read_record(run.record)


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="forked nowhere else")
def test_forked_jobs_equal_those_of_fresh_processes(command_line: CommandLine, tmp_path: Path) -> None:
    """Weights, scores and provenance are equal bit for bit."""
    for name, seeds, fork in (("forked", "1,2", "true"), ("fresh", "2", "false")):
        result = command_line("-m", f"seed={seeds}", f"paths.runs={tmp_path / name}", f"launch.fork_jobs={fork}")
        assert result.returncode == 0, result.stderr
    forked = runs(tmp_path / "forked")
    assert {read_record(run.record).status for run in forked.values()} == {Status.finished}
    assert len(forked) == 2
    ((name, fresh),) = runs(tmp_path / "fresh").items()
    weights, record = content(forked[name])
    others, other = content(fresh)
    assert all(torch.equal(weight, others[key]) for key, weight in weights.items())
    assert record.status is other.status
    assert record.hardware == other.hardware
    assert record.versions == other.versions
    for split, scores in record.scores.items():
        assert replace(scores, seconds=0.0) == replace(other.scores[split], seconds=0.0)
