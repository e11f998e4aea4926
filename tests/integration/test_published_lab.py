"""The lab's pages are what its published scores of sentences give, and docs/results.md has their verdicts."""

import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from commands import AIAYN

ROOT = Path(__file__).parents[2]
RESULTS = Path("docs") / "results.md"
PUBLISHED = RESULTS.with_suffix("")
LAB = PUBLISHED / "lab"
STUDIES = {
    "baselines": "lab_baselines",
    "capacity": "table3_lab_capacity",
    "overfitting": "table3_lab_overfitting",
    "scaling": "lab_scaling",
}
"""The pre-registered study of each folder."""


def test_every_published_study_is_recomputed() -> None:
    assert {archive.parent.name for archive in (ROOT / LAB).glob("*/runs.tar.xz")} == set(STUDIES)
    for folder, study in STUDIES.items():
        with tarfile.open(ROOT / LAB / folder / "runs.tar.xz") as archive:
            assert f"runs/registrations/{study}.json" in archive.getnames()


@pytest.mark.long
@pytest.mark.parametrize(
    ("folder", "report", "page"),
    [
        ("lab/baselines", "hypotheses", "README.md"),
        ("lab/baselines", "comparison", "comparison.md"),
        ("lab/capacity", "hypotheses", "README.md"),
        ("lab/capacity", "table3", "table3.md"),
        ("lab/overfitting", "hypotheses", "README.md"),
        ("lab/overfitting", "table3", "table3.md"),
        ("lab/scaling", "hypotheses", "README.md"),
        ("reproductions", "reproductions", "README.md"),
    ],
)
def test_a_page_is_recomputed_from_the_published_scores(folder: str, report: str, page: str, tmp_path: Path) -> None:
    published = tmp_path / PUBLISHED / folder
    shutil.copytree(ROOT / PUBLISHED / folder, published)
    (published / page).unlink()
    words = [report, f"from={PUBLISHED / folder}", f"output={PUBLISHED / folder / page}"]
    subprocess.run([*AIAYN, "report", *words], cwd=tmp_path, check=True)
    assert (published / page).read_bytes() == (ROOT / PUBLISHED / folder / page).read_bytes()


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
