"""The training losses of the first steps of every experiment, which a change of structure must not change.

`losses.json` beside this file holds them by the vector instructions of the CPU, on which torch's random numbers depend.
After a change of the numbers on purpose, record them anew and commit them with the reason:

    .venv/bin/python tests/pins/losses.py
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from aiayn.config.store import options

LOSSES = Path(__file__).with_name("losses.json")
TOLERANCE = 1e-4
"""Absolute, in nats: all are computed by one thread, and in one order."""

STEPS = 5
SETTINGS = (
    "scale=nano",
    f"optimization.max_steps={STEPS}",
    "optimization.warmup_steps=5",
    "optimization.source_tokens=400",
    "optimization.target_tokens=400",
    f"optimization.validation_interval={STEPS}",
    f"optimization.checkpoint_interval={STEPS}",
    "averaging=none",
    "trainer.log_every_n_steps=1",
    "trainer.accelerator=cpu",
    "decoding.validation_sentences=1",
    "decoding.beam_size=1",
    "decoding.max_extra_length=2",
    "data.sentences=2000",
    "data.dev_sentences=4",
    "data.test_sentences=4",
    "tokenizer.vocabulary_size=500",
    "logger=none",
    "cost.probe_seconds=0.01",
)


def losses(folder: Path, **environment: str) -> dict[str, list[float]]:
    """The training loss of each step, by experiment; of parsers on the embedded trees, of others on its pairs."""
    variables = os.environ | {"OMP_NUM_THREADS": "1"} | environment
    # Not those that want text of another form, or of a language that no embedded corpus has.
    embedded = [name for name in options("experiment") if not name.startswith("multi30k/") and "en_fr" not in name]
    for data in ("grammar", "toy_trees"):
        # The semi-supervised parser wants trees besides a treebank's.
        chosen = [
            name for name in embedded if name.startswith("table4/") == (data == "toy_trees") and "semi" not in name
        ]
        words = [*SETTINGS, f"experiment={','.join(chosen)}", f"data={data}", f"paths.runs={folder}/runs"]
        command = [sys.executable, "-m", "aiayn", "train", "-m", *words, f"paths.cache={folder}/cache"]
        done = subprocess.run(command, env=variables, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[-3000:]
    found: dict[str, list[float]] = {}
    for metrics in sorted(folder.glob("runs/*/*/*/metrics.jsonl")):
        rows = map(json.loads, metrics.read_text().splitlines())
        experiment = "/".join(metrics.relative_to(folder / "runs").parts[:2])
        found[experiment] = [row["train/loss"] for row in rows if "train/loss" in row]
    return found


if __name__ == "__main__":
    recorded = {}
    for capability, variable in (("AVX2", "avx2"), ("AVX512", "avx512")):
        with tempfile.TemporaryDirectory() as given:
            recorded[capability] = losses(Path(given), ATEN_CPU_CAPABILITY=variable)
    LOSSES.write_text(json.dumps(recorded, indent=1) + "\n")
