"""`make tour` has a rule for every command of the README and of docs/, and refuses others."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from aiayn.commands.report import check_choice

TOUR = Path(__file__).parent / "support" / "tour.py"


def listed(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, str(TOUR), "--list", *words], capture_output=True, text=True, check=False)


def test_every_command_of_the_documents_has_a_rule() -> None:
    result = listed()
    assert (result.returncode, result.stderr) == (0, "")
    assert "\naiayn report table1\n" in result.stdout, "inline in the README"
    assert "demo-seed1-...\n  aiayn report run run=RUN\n" in result.stdout, "in a block of docs/"
    adapted = [line for line in result.stdout.splitlines() if line.startswith("  ")]
    assert all("..." not in line and "@RUN@" not in line for line in adapted)


def test_reports_are_chosen_by_keys_that_they_take() -> None:
    reports = set(re.findall(r"^  aiayn report (\w+)( .*)?$", listed().stdout, re.MULTILINE))
    chosen = [(noun, key, value) for noun, words in reports for key, value in re.findall(r"\b(only\.\w+)=(\S+)", words)]
    assert len(chosen) > 5
    for choice in chosen:
        check_choice(*choice)


@pytest.mark.parametrize(
    "page",
    [
        "```\naiayn tarin scale=nano  # a comment\n```\n",
        "Say `aiayn fly high`.\n",
        "```\naiayn report run\npython x.py\n```\n",
    ],
)
def test_a_command_without_a_rule_fails_the_tour(page: str, tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text(f"# Page\n\n`aiayn` is a program.\n\n{page}")
    result = listed(str(tmp_path / "page.md"))
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr.count("\n") == 1
    assert result.stderr.startswith("no rule of tour.py knows how to run: ")


def test_only_commands_are_taken(tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text(
        "`runs/` and\n\n```text\nrun.json  a file\n```\n\n```\naiayn report a \\\n  b=1\n```\n"
    )
    assert listed(str(tmp_path / "page.md")).stdout == "aiayn report a b=1\n  aiayn report a b=1\n"
