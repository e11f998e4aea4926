"""Reports, configurations, records, parameters, help and losses are those that were recorded."""

import json
from pathlib import Path

import pytest
import torch
from losses import LOSSES, TOLERANCE, losses
from outputs import DIGESTS, digest, fixed_runs, outputs

pytestmark = pytest.mark.long


@pytest.mark.parametrize("kind", ["reports", "configurations", "parameters", "records", "help"])
def test_outputs_are_the_recorded_ones(kind: str, tmp_path: Path) -> None:
    fixed_runs(tmp_path)
    recorded = {name: each for name, each in json.loads(DIGESTS.read_text()).items() if name.startswith(f"{kind}/")}
    found = {name: digest(text) for name, text in outputs(tmp_path, [kind])}
    assert found == recorded, (
        "the outputs themselves: python tests/pins/outputs.py <folder>, here and at the commit before"
    )


def test_the_first_losses_of_every_experiment_are_the_recorded_ones(tmp_path: Path) -> None:
    recorded = json.loads(LOSSES.read_text())
    capability = torch.backends.cpu.get_cpu_capability()
    if capability not in recorded:
        pytest.skip(f"no losses were recorded on a CPU with {capability}")
    found = losses(tmp_path)
    assert found.keys() == recorded[capability].keys()
    for experiment, curve in found.items():
        assert curve == pytest.approx(recorded[capability][experiment], abs=TOLERANCE, rel=0), experiment
