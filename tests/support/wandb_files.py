"""W&B's files of a run, read with its own command."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any


def kept_records(folder: Path) -> list[dict[str, Any]]:
    """All records of one attempt, in order."""
    command = [str(Path(sys.executable).with_name("wandb")), "leet", "inspect", "--json", str(folder)]
    shown = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    return [json.loads(line) for line in shown.splitlines()]
