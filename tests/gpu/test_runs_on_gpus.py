"""Runs on GPUs by the command: no step waits, two ranks train as one, and a killed rank ends the run.

Most run on the CPU too, which shows mistakes of their own.
"""

import os
import signal
import subprocess
from pathlib import Path

import observers
import pytest
import torch
from commands import AIAYN, SECONDS
from groups import started_group
from run_files import losses, only_run
from tiny import TINY

from aiayn.runs.record import Status, read_record


def train(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """`aiayn train` on the tiny configuration in a process of its own, which finds `observers`."""
    paths = [str(Path(observers.__file__).parent), os.environ.get("PYTHONPATH", "")]
    return subprocess.run(
        [*AIAYN, "train", *TINY, "logger=none", f"paths.cache={folder / 'cache'}", *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )


@pytest.mark.parametrize(
    ("device", "precision", "log_interval"),
    [
        pytest.param("cpu", "bf16-mixed", 100, marks=pytest.mark.long),
        pytest.param("cuda", "bf16-mixed", 100, marks=pytest.mark.gpu),
        pytest.param("cuda", "32-true", 100, marks=pytest.mark.gpu),
        pytest.param("cuda", "32-true", 1, marks=pytest.mark.gpu),
    ],
)
def test_no_training_step_waits_but_those_that_log(
    tmp_path: Path, device: str, precision: str, log_interval: int
) -> None:
    """From the transfer of the third batch to the update by the one before the last.

    Batches are so large that the embeddings' gradients are sorted: below 3,073 tokens torch has another kernel.
    """
    done = train(
        tmp_path,
        f"trainer.accelerator={device}",
        f"trainer.precision={precision}",
        f"trainer.log_every_n_steps={log_interval}",
        "data.sentences=2000",
        "optimization.source_tokens=8000",
        "optimization.target_tokens=8000",
        "optimization.max_tokens_per_device=8000",
        "optimization.validation_interval=12",
        "optimization.checkpoint_interval=12",
        "+callbacks.strict={_target_: observers.WaitsForbidden, start: 1, end: 11}",
    )
    waits = log_interval == 1
    assert done.returncode == waits, done.stderr
    assert ("synchronizing CUDA operation" in done.stderr) == waits


@pytest.mark.parametrize(
    ("device", "tf32"),
    [
        pytest.param("cpu", True, marks=pytest.mark.long),
        pytest.param("cuda", False, marks=pytest.mark.gpu),
        pytest.param("cuda", True, marks=pytest.mark.gpu),
    ],
)
def test_the_record_states_the_precision_that_auto_stands_for(tmp_path: Path, device: str, tf32: bool) -> None:
    done = train(
        tmp_path, f"trainer.accelerator={device}", "trainer.precision=auto", f"launch.tf32={str(tf32).lower()}"
    )
    assert done.returncode == 0, done.stderr
    record = read_record(only_run(tmp_path / "runs") / "run.json")
    has_both = device == "cuda" and torch.cuda.get_device_capability() >= (8, 0)  # bf16 and TF32 came together
    assert record.precision == ("bf16-mixed" if has_both else "32-true")
    assert record.tf32 == (tf32 and has_both)


@pytest.mark.parametrize(
    "device", [pytest.param("cpu", marks=pytest.mark.long), pytest.param("cuda", marks=pytest.mark.gpu(2))]
)
def test_two_ranks_train_as_one(tmp_path: Path, device: str) -> None:
    found = []
    for devices in (1, 2):
        runs = tmp_path / str(devices)
        shared = (f"trainer.accelerator={device}", "trainer.precision=32-true", "model.dropout=0")
        done = train(tmp_path, *shared, f"trainer.devices={devices}", f"paths.runs={runs}")
        assert done.returncode == 0, done.stderr
        found.append(losses(only_run(runs)))
    assert len(found[0]) == 12
    assert found[1] == pytest.approx(found[0], rel=1e-4)


@pytest.mark.gpu(2)
def test_a_killed_rank_ends_the_run_in_one_line(tmp_path: Path) -> None:
    """On CPUs tests/integration/test_disturbed_groups.py shows it."""
    with started_group(tmp_path, *TINY, "trainer.accelerator=cuda") as group:
        os.kill(group.process("rank 1"), signal.SIGKILL)
        code, said = group.end()
        assert not group.processes()
    assert code == 1
    assert "Traceback" not in said
    assert said.splitlines()[-1].startswith("aiayn: rank 1 was killed by SIGKILL")
    assert read_record(group.run / "run.json").status is Status.failed
