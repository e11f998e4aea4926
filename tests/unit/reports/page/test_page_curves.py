"""Curves keep their shape with few points, and files that are being written are read."""

import json
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiayn.reports.page.curves import DIGITS, MOST_POINTS, read_curves, thinned

finite = st.floats(-1e6, 1e6)


@given(values=st.lists(finite, max_size=300), most=st.integers(4, 60))
def test_thinning_keeps_ends_and_extremes_in_order(values: list[float], most: int) -> None:
    kept = thinned(values, most)
    assert kept == sorted(set(kept))
    assert len(kept) <= most
    if len(values) <= most:
        assert kept == list(range(len(values)))
        return
    shown = [values[place] for place in kept]
    assert (kept[0], kept[-1]) == (0, len(values) - 1)
    assert (min(shown), max(shown)) == (min(values), max(values))


@given(count=st.integers(0, 3000), most=st.integers(4, 300))
def test_no_stretch_of_a_curve_goes_unshown(count: int, most: int) -> None:
    kept = thinned([float(place % 7) for place in range(count)], most)
    parts = (most - 2) // 2
    longest = count if count <= most else 2 * (-(-(count - 2) // parts))
    assert all(later - earlier <= max(1, longest) for earlier, later in pairwise(kept))


def test_a_file_that_is_being_written_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    rows: list[dict[str, float | None]] = [{"step": step, "train/loss": 8.0 / step} for step in range(1, 1001)]
    rows.insert(500, {"step": 500, "val/ppl": 2.5})
    rows.insert(700, {"step": 700, "val/ppl": None})  # what JSON cannot express
    path = tmp_path / "metrics.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows) + '{"step": 1001, "train/lo')
    curves = read_curves(path)
    assert (curves["val/ppl"].steps, curves["val/ppl"].values) == ((500,), (2.5,))
    loss = curves["train/loss"]
    assert (loss.steps[0], loss.steps[-1]) == (1, 1000)
    assert len(loss.steps) == len(loss.values) <= MOST_POINTS
    assert loss.values == pytest.approx([8.0 / step for step in loss.steps], rel=10 ** (1 - DIGITS))
    assert "val/bleu" not in curves


@pytest.mark.parametrize("text", ["", "null\n", "[]\n", '{"step": "x"}\n', '{"val/ppl": 1.0}\n', '\x00{"step": 1}\n'])
def test_what_is_no_metric_is_passed_over(text: str, tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_text(text)
    assert read_curves(path) == {}


def test_a_run_that_has_logged_nothing_has_no_curves(tmp_path: Path) -> None:
    assert read_curves(tmp_path / "metrics.jsonl") == {}
