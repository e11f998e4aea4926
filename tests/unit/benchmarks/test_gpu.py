"""`make gpu` as far as a CPU goes: what is measured is kept, shown, and not measured again."""

import json
from pathlib import Path

import pytest

import gpu


def measure(tmp_path: Path, *words: str) -> int:
    folders = [f"--{name}={tmp_path / name}" for name in ("output", "work")]
    return gpu.main([*words, "--device", "cpu", "--tiny", *folders])


def test_the_cpu_agrees_with_itself_and_is_not_asked_twice(tmp_path: Path) -> None:
    assert measure(tmp_path, "agreement") == 0
    kept = tmp_path / "output" / "gpu.json"
    found = json.loads(kept.read_text())["agreement"]
    assert found == {"table3/base": {"loss, relative": 0.0, "gradients, relative": 0.0}}
    assert "| table3/base | 0 | 0 |" in (tmp_path / "output" / "gpu-agreement.md").read_text()
    kept.write_text(json.dumps({"agreement": {"table3/base": {"loss, relative": 0.5}}}))
    assert measure(tmp_path, "agreement") == 0
    assert json.loads(kept.read_text())["agreement"]["table3/base"] == {"loss, relative": 0.5}
    assert measure(tmp_path, "agreement", "--again") == 0
    assert json.loads(kept.read_text())["agreement"] == found


@pytest.mark.long
def test_every_stage_runs(tmp_path: Path) -> None:
    assert measure(tmp_path, "experiments", "speed", "decoding") == 0
    found = json.loads((tmp_path / "output" / "gpu.json").read_text())
    assert {stage: len(measured) for stage, measured in found.items()} == {"experiments": 2, "speed": 1, "decoding": 1}
    assert found["speed"]["base fp32"]["tokens/s, median window"] > 0


def test_an_unknown_stage_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        measure(tmp_path, "speeed")
    assert "no such stage: speeed" in capsys.readouterr().err
