"""The script of the first minutes on a GPU, as far as a CPU goes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from gpu_bench import kept

import gpu_day

SCRIPT = Path(gpu_day.__file__).with_suffix(".sh")


@pytest.mark.long
def test_the_whole_script_measures_on_a_cpu_and_keeps_what_it_measured(tmp_path: Path) -> None:
    told = {"OUT": str(tmp_path / "output"), "WORK": str(tmp_path / "work"), "DEVICE": "cpu", "TINY": "1"}
    chosen = {"PARTS": "speed:base fp32", "SECS": "300", "PYTHON": sys.executable}
    done = subprocess.run(
        ["bash", SCRIPT], env={**os.environ, **told, **chosen}, capture_output=True, text=True, check=False
    )
    log = (tmp_path / "output" / "log").read_text()
    assert done.returncode == 0, log
    assert {*kept(tmp_path, "speed")} == {"base fp32"}
    assert kept(tmp_path, "speed")["base fp32"]["target tokens/s"] > 0, "all of the measurement, not its failure"
    assert "skipped" in log, "the tests of GPUs are there, and this machine has none"
    assert len([*(tmp_path / "work" / "cache" / "prepared").glob("*/manifest.json")]) == 1, (
        "prepared once, and found by the run"
    )
