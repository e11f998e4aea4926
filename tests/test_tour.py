"""`make tour` knows every command of the README, and refuses one that it does not know."""

import subprocess
import sys
from pathlib import Path

import pytest

TOUR = Path(__file__).with_name("tour.py")


def listed(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, str(TOUR), "--list", *words], capture_output=True, text=True, check=False)


def test_every_command_of_the_readme_is_taken() -> None:
    result = listed()
    assert (result.returncode, result.stderr) == (0, "")
    assert "\naiayn train --help\n" in result.stdout
    assert "demo-seed1-...\n  aiayn report run run=RUN\n" in result.stdout
    assert all("..." not in line for line in result.stdout.splitlines() if line.startswith("  ")), (
        "nothing is left open"
    )


@pytest.mark.parametrize(
    "page",
    [
        "```\naiayn tarin scale=nano  # a comment\n```\n",
        "Say `aiayn fly high`.\n",
        "```\naiayn report run\npython x.py\n```\n",
    ],
)
def test_a_command_that_nobody_tries_fails_the_tour(page: str, tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text(f"# Page\n\n`aiayn` is a program.\n\n{page}")
    result = listed(str(tmp_path / "page.md"))
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr.count("\n") == 1
    assert result.stderr.startswith("no rule of tour.py knows how to run: ")


def test_what_is_no_command_is_not_taken_for_one(tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text(
        "`runs/` and\n\n```text\nrun.json  a file\n```\n\n```\naiayn report a \\\n  b=1\n```\n"
    )
    assert listed(str(tmp_path / "page.md")).stdout == "aiayn report a b=1\n  aiayn report a b=1\n"
