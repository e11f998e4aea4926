"""A test that hangs is ended and named, whether Python runs or not; the others run."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
WAITING = "import time\n\n\ndef test_waits():\n    time.sleep(600)\n\n\ndef test_passes():\n    pass\n"
DEAF = (
    "import itertools\n\n\ndef test_is_deaf():\n    sum(itertools.repeat(0))\n\n\n"  # no signal is handled meanwhile
    "def test_passes():\n    pass\n"
)


@pytest.mark.slow
@pytest.mark.parametrize(("text", "name", "outcome"), [(WAITING, "waits", "Timeout"), (DEAF, "is_deaf", "crashed")])
def test_a_hanging_test_is_ended_and_named(tmp_path: Path, text: str, name: str, outcome: str) -> None:
    (tmp_path / "test_of_this.py").write_text(text)
    limits = ["--timeout=1", "-o", "faulthandler_timeout=2", "-o", "faulthandler_exit_on_timeout=true"]
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-n1", *limits, str(tmp_path)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 1
    assert f"test_{name}" in done.stdout
    assert outcome in done.stdout
    assert "1 failed, 1 passed" in done.stdout


def test_every_suite_has_a_limit() -> None:
    lines = (ROOT / "Makefile").read_text().splitlines()
    suites = [line for line in lines if re.search(r"\$\(BIN\)/pytest", line)]
    assert len(suites) >= 8
    assert all("$(LIMIT)" in line or "$(PATIENT)" in line for line in suites)
