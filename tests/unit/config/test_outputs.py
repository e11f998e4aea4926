"""Paths of `output=` are judged before anything is written; errors name what was read, or the output."""

from collections.abc import Callable
from pathlib import Path

import pytest
from ordinary_user import ordinary_user

from aiayn.config.outputs import new_output, output_errors, output_file, output_folder
from aiayn.errors import UserError
from aiayn.system import files


@pytest.mark.parametrize("judge", [output_file, output_folder, new_output])
@pytest.mark.parametrize("name", ["closed/x.md", "loop", "x" * 300])
def test_a_place_that_cannot_be_looked_into_is_named_with_its_key(
    tmp_path: Path, judge: Callable[[str], object], name: str
) -> None:
    (tmp_path / "closed").mkdir(mode=0)
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(UserError, match=rf"^output={tmp_path / name}: "), ordinary_user():
        judge(str(tmp_path / name))


def test_an_error_of_reading_is_not_the_outputs(tmp_path: Path) -> None:
    closed = tmp_path / "metrics.jsonl"
    closed.touch(mode=0)
    with pytest.raises(UserError, match=rf"^{closed}: Permission denied"), ordinary_user(), output_errors("x.html"):
        closed.read_bytes()


def test_an_error_of_writing_is_the_outputs(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir(mode=0o500)
    with (
        pytest.raises(UserError, match=r"^output=x\.html: Permission denied"),
        ordinary_user(),
        output_errors("x.html"),
    ):
        files.write_text(folder / "x.html", "")
