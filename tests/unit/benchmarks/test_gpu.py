"""`make gpu` as far as a CPU goes: what is measured is kept, shown, and not measured again."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from gpu_bench import kept, measure, shown
from reference_varlen import reference_varlen

import gpu
import one_gpu
from aiayn.models.kernels import flat_attention

ROOT = Path(gpu.__file__).parents[1]


def test_the_cpu_agrees_with_itself_and_is_not_asked_twice(tmp_path: Path) -> None:
    assert measure(tmp_path, "agreement") == 0
    (found,) = kept(tmp_path, "agreement").values()
    assert [value for value in found.values() if isinstance(value, float)] == [0.0] * 4
    assert "| table3/base | 0.0 | 0.0 | 0.0 | 0.0 |" in shown(tmp_path, "agreement")
    path = tmp_path / "output" / "gpu.json"
    path.write_text(json.dumps({"agreement": {"table3/base": {**found, "loss, relative": 0.5}}}))
    assert measure(tmp_path, "agreement") == 0
    assert kept(tmp_path, "agreement")["table3/base"]["loss, relative"] == 0.5
    assert measure(tmp_path, "agreement", "--again") == 0
    assert kept(tmp_path, "agreement")["table3/base"]["loss, relative"] == 0.0


def test_attention_without_padding_is_compared_with_padded_attention(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a plain form of the kernel that only GPUs have."""
    monkeypatch.setattr(flat_attention, "varlen_attention", reference_varlen)
    monkeypatch.setattr(flat_attention, "VARLEN_DEVICE", "cpu")
    assert measure(tmp_path, "agreement") == 0
    (found,) = kept(tmp_path, "agreement").values()
    assert found["gradients, relative"] == 0.0
    assert 0 < found["bf16 without padding: loss"] < 1e-3
    assert 0 < found["bf16 without padding: gradients"] < 0.2


class Device:
    """Measurements of which some fail, and the order in which they are made."""

    def __init__(self, *broken: str, seconds: float = 0.0) -> None:
        self.broken = {*broken}
        self.made: list[str] = []
        self.seconds = seconds

    def measurements(self) -> dict[str, Callable[[], dict[str, Any]]]:
        return {name: partial(self.measure, name) for name in ("first", "second", "third")}

    def measure(self, name: str) -> dict[str, Any]:
        self.made.append(name)
        time.sleep(self.seconds)
        if name in self.broken:
            raise RuntimeError(f"{name} is broken\nin two lines")
        return {"speed": 12_345, "share": 0.25}


def measure_on(device: Device, tmp_path: Path, *, about: str = "one GPU", seconds: float = 60) -> bool:
    return gpu.measure("stage", device.measurements(), tmp_path / "output", about=about, seconds=seconds)


def test_a_failure_is_recorded_and_made_again_behind_the_others(tmp_path: Path) -> None:
    (tmp_path / "output").mkdir()
    device = Device("first")
    assert not measure_on(device, tmp_path, seconds=60)
    assert device.made == ["first", "second", "third"]
    assert kept(tmp_path, "stage")["first"]["failure"] == "RuntimeError: first is broken in two lines"
    assert "| second |  | 12,345 | 0.25 |" in shown(tmp_path, "stage")
    path = tmp_path / "output" / "gpu.json"
    found = kept(tmp_path, "stage")
    del found["third"]
    path.write_text(json.dumps({"stage": found}))
    repaired = Device()
    assert measure_on(repaired, tmp_path)
    assert repaired.made == ["third", "first"]
    assert "failure" not in shown(tmp_path, "stage")


def test_a_stage_stops_at_its_limit_and_the_same_command_continues(tmp_path: Path) -> None:
    (tmp_path / "output").mkdir()
    slow = Device(seconds=0.2)
    assert not measure_on(slow, tmp_path, seconds=0.1)
    assert slow.made == ["first"]
    assert "Not measured yet: second, third." in shown(tmp_path, "stage")
    assert measure_on(slow, tmp_path, about="another GPU")
    assert slow.made == ["first", "second", "third"]
    page = shown(tmp_path, "stage")
    assert "Not measured yet" not in page
    assert "- By one GPU: first.\n- By another GPU: second, third." in page


def refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    code = gpu.main(words)
    said = capsys.readouterr()
    assert (code, said.out) == (2, "")
    (line,) = said.err.splitlines()
    return line


def test_a_stage_that_does_not_exist_is_refused_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = refused(["speeed", f"--output={tmp_path / 'output'}"], capsys)
    assert line.startswith("make gpu: speeed: no such stage; choose from experiments, ")
    assert not (tmp_path / "output").exists()


def test_an_interpreter_without_torch_is_refused_in_one_line(tmp_path: Path) -> None:
    paths = os.pathsep.join(str(ROOT / name) for name in ("src", "benchmarks"))
    done = subprocess.run(
        [sys.executable, "-S", gpu.__file__, f"--output={tmp_path / 'output'}"],  # -S: without installed packages
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert "has no torch: name an interpreter" in line
    assert not (tmp_path / "output").exists()


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_without_a_gpu_nothing_is_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "there is no CUDA device here" in refused([f"--output={tmp_path / 'output'}"], capsys)
    assert not (tmp_path / "output").exists()
    (row,) = one_gpu.measure()
    assert row.value is None
    assert "no CUDA device" in row.note
