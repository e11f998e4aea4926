"""Published scores: the lab's pages are static and name the commit that recomputes them; others are recomputed."""

import re
import subprocess
from pathlib import Path

import pytest
from commands import AIAYN

ROOT = Path(__file__).parents[2]
PUBLISHED = Path("docs") / "results"
LAB = PUBLISHED / "lab"
COMMIT = "84873cb4"
"""The code by whose rules the pages of these studies are written."""

PAGES = [
    ("baselines", "hypotheses", "README.md"),
    ("baselines", "comparison", "comparison.md"),
    ("capacity", "hypotheses", "README.md"),
    ("capacity", "table3", "table3.md"),
    ("overfitting", "hypotheses", "README.md"),
    ("overfitting", "table3", "table3.md"),
    ("scaling", "hypotheses", "README.md"),
]
"""Folder and report of each page that is made from the archive of its folder."""

SCORES = re.compile(
    r"^## (?:Rows|Table 3|BLEU by|PPL by|Settings|Per seed|Runs$).*?(?=^## |\Z)", re.MULTILINE | re.DOTALL
)
"""The parts of a page that no rule of intervals or verdicts changes."""


def written(folder: Path, report: str, page: Path) -> str:
    """The page that a report writes from the archive of a folder."""
    command = [*AIAYN, "report", report, f"from={folder}", f"output={page}"]
    subprocess.run(command, cwd=ROOT, check=True)
    return page.read_text(encoding="utf-8")


@pytest.mark.parametrize("folder", sorted({folder for folder, _, _ in PAGES}))
def test_static_pages_name_the_commit_that_recomputes_them(folder: str) -> None:
    reports = {page: report for place, report, page in PAGES if place == folder}
    for path in (ROOT / LAB / folder).glob("*.md"):
        _, static, _ = path.read_text(encoding="utf-8").split("\n\n", 2)
        assert static.startswith("Static since 2026-11-28: ")
        assert f"ommit {COMMIT} " in static
        if path.name in reports:
            command = f"aiayn report {reports.pop(path.name)} from={LAB / folder} output=page.md"
            assert f"`git checkout {COMMIT}; {command}`" in static
    assert reports == {}


@pytest.mark.long
@pytest.mark.usefixtures("recorded")
@pytest.mark.parametrize(("folder", "report", "page"), PAGES)
def test_the_archive_of_a_study_stays_readable(folder: str, report: str, page: str, tmp_path: Path) -> None:
    static = SCORES.findall((ROOT / LAB / folder / page).read_text(encoding="utf-8"))
    assert len(static) >= 3
    assert SCORES.findall(written(LAB / folder, report, tmp_path / page)) == static


@pytest.mark.long
@pytest.mark.usefixtures("recorded")
def test_a_page_without_a_plan_is_recomputed_byte_for_byte(tmp_path: Path) -> None:
    folder = PUBLISHED / "reproductions"
    recomputed = written(folder, "reproductions", tmp_path / "page.md")
    assert recomputed.encode() == (ROOT / folder / "README.md").read_bytes()
