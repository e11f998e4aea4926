"""The lab's pages are what its published scores of sentences give, and docs/results.md has their verdicts."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from commands import AIAYN

ROOT = Path(__file__).parents[2]
RESULTS = Path("docs") / "results.md"
LAB = RESULTS.parent / "results" / "lab"
STUDIES = {
    "baselines": "lab_baselines",
    "capacity": "table3_lab_capacity",
    "overfitting": "table3_lab_overfitting",
    "scaling": "lab_scaling",
}
"""The pre-registered study of each folder."""


def test_every_published_study_is_recomputed() -> None:
    assert {archive.parent.name for archive in (ROOT / LAB).glob("*/runs.tar.xz")} == set(STUDIES)


@pytest.mark.long
@pytest.mark.parametrize(
    ("folder", "report", "page"),
    [
        ("baselines", "hypotheses", "README.md"),
        ("baselines", "comparison", "comparison.md"),
        ("capacity", "hypotheses", "README.md"),
        ("capacity", "table3", "table3.md"),
        ("overfitting", "hypotheses", "README.md"),
        ("overfitting", "table3", "table3.md"),
        ("scaling", "hypotheses", "README.md"),
    ],
)
def test_a_page_is_recomputed_from_the_published_scores(folder: str, report: str, page: str, tmp_path: Path) -> None:
    published = tmp_path / LAB / folder
    shutil.copytree(ROOT / LAB / folder, published)
    (published / page).unlink()
    study = [f"study={STUDIES[folder]}"] if report == "hypotheses" else []
    words = [report, f"from={LAB / folder}", *study, f"output={LAB / folder / page}"]
    subprocess.run([*AIAYN, "report", *words], cwd=tmp_path, check=True)
    assert (published / page).read_bytes() == (ROOT / LAB / folder / page).read_bytes()


@pytest.mark.long
def test_the_index_has_the_verdicts_of_the_published_studies(tmp_path: Path) -> None:
    shutil.copytree(ROOT / LAB, tmp_path / LAB, ignore=shutil.ignore_patterns("*.html"))
    page = tmp_path / RESULTS
    text = (ROOT / RESULTS).read_text(encoding="utf-8")
    before, _, rest = text.partition("<!-- lab -->\n")
    _, _, after = rest.partition("<!-- end of lab -->")
    page.write_text(f"{before}<!-- lab -->\n<!-- end of lab -->{after}", encoding="utf-8")
    script = ROOT / "benchmarks" / "lab_results.py"
    folders = [str(LAB / folder) for folder in STUDIES]
    subprocess.run([sys.executable, str(script), str(RESULTS), *folders], cwd=tmp_path, check=True)
    assert page.read_text(encoding="utf-8") == text
