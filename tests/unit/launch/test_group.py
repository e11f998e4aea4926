"""A group that cannot even begin does not pass for one that finished."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from aiayn.launch.members import FOLDER


@pytest.mark.slow
def test_an_agent_that_comes_to_grief_is_no_success(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    ended = subprocess.run(
        [sys.executable, "-m", "aiayn.launch.group", str(tmp_path), "aiayn train", "2"],
        env={**os.environ, FOLDER: str(tmp_path / "file" / "no-folder")},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ended.returncode == 1, ended.stderr
