"""W&B's files of a run, read with its own command."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any


def kept_records(folder: Path) -> list[dict[str, Any]]:
    """All records of one attempt, in order."""
    return [json.loads(line) for line in _inspected(folder, "--json").splitlines()]


def kept_summary(folder: Path) -> dict[str, Any]:
    """Configuration, summary, state and exit code of one attempt."""
    content: dict[str, Any] = json.loads(_inspected(folder, "--summary", "--json"))
    return content


def _inspected(folder: Path, *options: str) -> str:
    command = [str(Path(sys.executable).with_name("wandb")), "leet", "inspect", *options, str(folder)]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
