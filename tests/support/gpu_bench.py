"""`make gpu` with tiny sizes, and what it has written."""

import json
from pathlib import Path
from typing import Any

import gpu


def measure(folder: Path, *words: str, device: str = "cpu") -> int:
    """Run the stages and flags; the exit code."""
    folders = [f"--{name}={folder / name}" for name in ("output", "work")]
    return gpu.main([*words, "--device", device, "--tiny", *folders])


def kept(folder: Path, stage: str) -> dict[str, dict[str, Any]]:
    """The figures of a stage by measurement."""
    stages: dict[str, dict[str, dict[str, Any]]] = json.loads((folder / "output" / "gpu.json").read_text())
    return stages[stage]


def shown(folder: Path, stage: str) -> str:
    """Its page."""
    return (folder / "output" / f"gpu-{stage}.md").read_text()
