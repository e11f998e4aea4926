"""metrics.jsonl has one complete line per log call; a resumed run drops the lines it will log again."""

import json
import math
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiayn.errors import UserError
from aiayn.runs.directory import RunDirectory
from aiayn.system.files import WriteError
from aiayn.tracking.metrics_log import MetricsLog

lengths = st.integers(1, 12)


def write(path: Path, steps: range, *, start_step: int = 0) -> MetricsLog:
    log = MetricsLog(path, start_step=start_step)
    for step in steps:
        log.log_metrics({"train/loss": step / 7, "epoch": 0}, step)
    return log


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_line_is_the_step_and_the_metrics_without_the_epoch(tmp_path: Path) -> None:
    write(tmp_path / "metrics.jsonl", range(1, 3))
    assert rows(tmp_path / "metrics.jsonl") == [{"step": step, "train/loss": step / 7} for step in (1, 2)]


@given(lengths, st.integers(0, 12))
def test_a_resumed_run_drops_lines_that_it_will_log_again(steps: int, start_step: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "metrics.jsonl"
        write(path, range(1, steps + 1))
        write(path, range(start_step + 1, 14), start_step=start_step)
        expected = [*range(1, min(steps, start_step) + 1), *range(start_step + 1, 14)]
        assert [row["step"] for row in rows(path)] == expected


@given(lengths, st.data())
def test_a_file_cut_anywhere_keeps_its_complete_lines(steps: int, data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "metrics.jsonl"
        write(path, range(1, steps + 1))
        content = path.read_bytes()
        cut = data.draw(st.integers(0, len(content)))
        path.write_bytes(content[:cut])
        write(path, range(50, 52), start_step=steps)
        whole = sum(cut >= len(b"\n".join(content.split(b"\n")[: line + 1])) for line in range(steps))
        assert [row["step"] for row in rows(path)] == [*range(1, whole + 1), 50, 51]


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
def test_numbers_that_json_lacks_are_null(value: float, tmp_path: Path) -> None:
    MetricsLog(tmp_path / "metrics.jsonl").log_metrics({"val/ppl": value, "train/lr": 0.5}, 3)
    assert rows(tmp_path / "metrics.jsonl") == [{"step": 3, "val/ppl": None, "train/lr": 0.5}]


def test_a_log_without_lines_makes_no_file(tmp_path: Path) -> None:
    MetricsLog(tmp_path / "metrics.jsonl", start_step=5)
    assert list(tmp_path.iterdir()) == []


def test_logged_metrics_can_be_read_back(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    assert list(RunDirectory(path.parent).logged_metrics()) == []
    MetricsLog(path).log_metrics({"val/ppl": math.inf, "train/lr": 0.5}, 3)
    write(path, range(4, 6), start_step=3)
    before = path.stat().st_mtime_ns
    assert list(RunDirectory(path.parent).logged_metrics()) == [
        (3, {"train/lr": 0.5}),
        (4, {"train/loss": 4 / 7}),
        (5, {"train/loss": 5 / 7}),
    ]
    MetricsLog(path, start_step=5)
    assert path.stat().st_mtime_ns == before, "a file without later lines is not rewritten"


def test_bytes_that_are_no_text_are_dropped_with_their_line(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    write(path, range(1, 3))
    path.write_bytes(b"\xff\xfe\0\n" + path.read_bytes())
    write(path, range(3, 4), start_step=2)
    assert [row["step"] for row in rows(path)] == [1, 2, 3]


def test_a_folder_that_was_removed_is_not_made_again(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    log = MetricsLog(folder / "metrics.jsonl")
    folder.rename(tmp_path / "moved")
    with pytest.raises(WriteError) as caught:
        log.log_metrics({"train/loss": 1.0}, 1)
    assert caught.value.filename == str(folder / "metrics.jsonl")
    assert [path.name for path in tmp_path.iterdir()] == ["moved"]


def test_metrics_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=rf"^{tmp_path}: cannot be read \(Is a directory\)"):
        MetricsLog(tmp_path)
