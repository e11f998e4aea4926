"""The losses of the first steps of `make demo`, pinned: a change of recipe, batches or model shows as a difference.

`tests/loss_curve.json` holds the training loss of each step by the vector instructions of the CPU, on which torch's
random numbers depend: one thread, single precision. After a change of the numbers on purpose, record it anew on a CPU
with AVX-512 and commit it with the reason:

    .venv/bin/python tests/test_loss_curve.py
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
import torch

CURVE = Path(__file__).with_name("loss_curve.json")
STEPS = 20

TOLERANCE = 1e-3
"""Absolute, in nats. Two threads instead of one, which add in another order, moved a loss by 7e-5 at most, while other
random numbers moved some by 2e-2."""

SETTINGS = (
    f"optimization.max_steps={STEPS}",
    f"optimization.validation_interval={STEPS}",
    "trainer.log_every_n_steps=1",
    "trainer.accelerator=cpu",
    "decoding.validation_sentences=1",
    "decoding.beam_size=1",
    "data.dev_sentences=20",
    "data.test_sentences=5",
    "logger=none",
)


def train(folder: Path, **environment: str) -> list[float]:
    """The training loss of each step of the demo."""
    words = [*SETTINGS, f"paths.runs={folder}/runs", f"paths.cache={folder}/cache"]
    command = [sys.executable, "-m", "aiayn", "train", "scale=demo", "experiment=table3/base", *words]
    variables = os.environ | {"OMP_NUM_THREADS": "1"} | environment
    done = subprocess.run(command, env=variables, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (metrics,) = folder.glob("runs/*/*/*/metrics.jsonl")
    rows = map(json.loads, metrics.read_text().splitlines())
    return [row["train/loss"] for row in rows if "train/loss" in row]


@pytest.mark.long
def test_the_first_losses_are_the_recorded_ones(tmp_path: Path) -> None:
    recorded = json.loads(CURVE.read_text())
    capability = torch.backends.cpu.get_cpu_capability()
    if capability not in recorded:
        pytest.skip(f"no curve was recorded on a CPU with {capability}")
    assert train(tmp_path) == pytest.approx(recorded[capability], abs=TOLERANCE, rel=0)


if __name__ == "__main__":
    curves = {}
    for name in ("AVX2", "AVX512"):
        with tempfile.TemporaryDirectory() as folder:
            losses = train(Path(folder), ATEN_CPU_CAPABILITY=name.lower())
        curves[name] = [round(loss, 6) for loss in losses]
    CURVE.write_text(json.dumps(curves, indent=1) + "\n")
