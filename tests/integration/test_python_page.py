"""The code of docs/python.md runs as it stands, and the page names every function."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from commands import SECONDS

import aiayn

PAGE = Path(__file__).parents[2] / "docs" / "python.md"


def test_every_function_is_on_the_page() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert not [name for name in aiayn.__all__ if f"aiayn.{name}" not in page and f"`{name}`" not in page]


@pytest.mark.long
def test_the_code_runs_in_an_empty_folder(tmp_path: Path) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    code = "\n".join(blocks)
    result = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={**os.environ, "AIAYN_CACHE": str(tmp_path / "cache")},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    for comment in re.findall(r"print\(error\)  # (.*)", code):
        assert comment in result.stdout
