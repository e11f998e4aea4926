"""The re-analysis of the lab is what its script computes from the published data, beside the pages' own verdicts."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import lab_reanalysis

ROOT = Path(__file__).parents[2]
LAB = ROOT / "docs" / "results" / "lab"

TABLE = re.compile(r"^## Claims .*?\n\n(?P<heading>.*)\n.*\n(?P<lines>(?:\|.*\n)+)", re.MULTILINE)
"""The claims of a study on its page."""


@pytest.mark.slow
def test_the_page_and_its_figure_are_recomputed_from_the_published_data(tmp_path: Path) -> None:
    pages = shutil.ignore_patterns("*.md", "*.html", "*.svg")
    shutil.copytree(LAB, tmp_path / "lab", ignore=pages)
    subprocess.run([sys.executable, lab_reanalysis.__file__, str(tmp_path / "lab")], check=True)
    for name in (lab_reanalysis.PAGE, lab_reanalysis.FIGURE):
        assert (tmp_path / "lab" / name).read_bytes() == (LAB / name).read_bytes()


@pytest.mark.parametrize("study", lab_reanalysis.OLD_VERDICTS)
def test_the_old_verdicts_are_those_of_the_study_s_page(study: str) -> None:
    found = TABLE.search((LAB / study / "README.md").read_text(encoding="utf-8"))
    assert found is not None
    headings, *lines = ([cell.strip() for cell in line.split("|")] for line in found[0].splitlines()[2:])
    column = headings.index("verdict")
    printed = {cells[1]: cells[column] for cells in lines[1:]}
    stated = lab_reanalysis.OLD_VERDICTS[study]
    assert printed == {name: verdict for verdict, names in stated.items() for name in names}


def test_a_folder_without_published_data_is_refused_in_one_line(tmp_path: Path) -> None:
    words = [sys.executable, lab_reanalysis.__file__, str(tmp_path)]
    refused = subprocess.run(words, capture_output=True, text=True, check=False)
    assert refused.returncode == 2
    assert refused.stderr.splitlines()[-1].endswith("aiayn report ... publish=<folder> writes one")
