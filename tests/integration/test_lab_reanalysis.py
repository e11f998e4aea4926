"""The re-analysis of the lab is what its script computes from the published data, beside the pages' own verdicts."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import lab_reanalysis


@pytest.mark.long
def test_the_page_and_its_figure_are_recomputed_from_the_published_data_and_pages(
    recorded: Path, tmp_path: Path
) -> None:
    lab = recorded / "lab"
    copy = shutil.copytree(lab, tmp_path / "lab", ignore=shutil.ignore_patterns("reanalysis.*"))
    subprocess.run([sys.executable, lab_reanalysis.__file__, str(copy)], check=True)
    for name in (lab_reanalysis.PAGE, lab_reanalysis.FIGURE):
        assert (copy / name).read_bytes() == (lab / name).read_bytes()


def test_a_folder_without_published_data_is_refused_in_one_line(tmp_path: Path) -> None:
    words = [sys.executable, lab_reanalysis.__file__, str(tmp_path)]
    refused = subprocess.run(words, capture_output=True, text=True, check=False)
    assert refused.returncode == 2
    assert refused.stderr.splitlines()[-1].endswith("aiayn report ... publish=<folder> writes one")
