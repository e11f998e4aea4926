"""No column holds runs that do not compare, and a row is the paper's printed change or no row at all."""

from collections.abc import Callable
from pathlib import Path

import pytest

from aiayn.config.freeze import plain
from aiayn.config.identity import flatten
from aiayn.config.schema import TrainConfig
from aiayn.errors import UserError
from aiayn.paper.tables import load_table3
from aiayn.reports.comparability import SCALED, ComparableRuns, comparable_runs
from aiayn.runs.ledger import read_results
from aiayn.runs.record import Status

MakeRun = Callable[..., Path]

ROWS = ("base", "a_h1", "c_n2", "d_drop0", "big")
"""Changes of every kind: what follows others, what each axis of the scale moves, and what none does."""


def find(
    runs: Path, *, scale: str | None = None, data: str | None = None, like: Path | str | None = None
) -> ComparableRuns:
    return comparable_runs(read_results(runs), runs, scale=scale, data=data, like=None if like is None else str(like))


def seen(found: ComparableRuns) -> list[tuple[str, int]]:
    return [(run.row.id, run.record.seed) for run in found.runs]


def refusal(runs: Path) -> str:
    with pytest.raises(UserError) as caught:
        find(runs)
    assert len(str(caught.value).splitlines()) == 1
    return str(caught.value)


@pytest.mark.parametrize(
    "overrides",
    [
        (),
        pytest.param(("scale=demo",), marks=pytest.mark.long),
        ("model.d_model=64", "optimization.max_steps=50"),
    ],
)
def test_the_papers_rows_compare_at_every_size(make_run: MakeRun, tmp_path: Path, overrides: tuple[str, ...]) -> None:
    rows = [row for row in ROWS if row != "big" or "model.d_model=64" not in overrides]
    for row in rows:
        for seed in (2, 1):
            make_run(row, *overrides, seed=seed)
    found = find(tmp_path / "runs")
    assert seen(found) == [(row, seed) for row in rows for seed in (1, 2)], "in the paper's order"
    assert found.left_out == 0


def test_what_is_scaled_is_what_the_configuration_scales(frozen_row: Callable[..., TrainConfig]) -> None:
    for row in map(load_table3().row, ROWS):
        config = frozen_row(f"table3/{row.id}", "scale=demo")
        frozen = flatten(plain(config))
        for key, printed in row.settings(load_table3()).items():
            factor = float(getattr(config.scale, SCALED[key])) if key in SCALED else 1
            assert frozen[key] == (max(1, round(int(printed) * factor)) if key in SCALED else printed), key


@pytest.mark.parametrize(
    ("row", "overrides", "changes", "key"),
    [
        ("a_h1", ("scale=demo",), {}, "scale"),
        ("a_h1", (), {"data_fingerprint": "e" * 64}, "data"),
        ("a_h1", (), {"signature": "nrefs:1|tok:none"}, "BLEU"),
        ("a_h1", (), {"sentences": 59}, "number of dev sentences"),
        ("a_h1", ("optimization.adam_beta2=0.9",), {}, "optimization.adam_beta2"),
        ("a_h1", ("model.num_heads=2",), {}, "model.num_heads"),
        ("d_drop0", ("model.dropout=0.3",), {}, "model.dropout"),
        ("c_n2", ("model.num_layers=2",), {}, "model.num_layers"),
        ("base", ("model.dropout=0.3",), {"seed": 2}, "model.dropout"),
        ("e_learned", (), {"fidelity": "other"}, "fidelity"),
    ],
)
def test_a_run_that_differs_otherwise_is_refused_with_the_key_and_both_runs(
    make_run: MakeRun, tmp_path: Path, row: str, overrides: tuple[str, ...], changes: dict[str, object], key: str
) -> None:
    base = make_run("base")
    other = make_run(row, *overrides, **changes)
    message = refusal(tmp_path / "runs")
    assert message.startswith(f"{key} differs, ")
    assert str(base) in message
    assert str(other) in message
    assert f"only.{key}=" in message or "only.like=" in message
    found = find(tmp_path / "runs", like=base)
    assert seen(found) == [("base", 1)]
    assert found.left_out == 1


def test_a_refusal_names_all_keys_the_unchanged_run_and_the_other_report(make_run: MakeRun, tmp_path: Path) -> None:
    """As for an idea of one's own that was tried on base: its runs count as base with changes."""
    changes = ("model.attention=additive", "model.dropout=0.3", "optimization.max_steps=50")
    changed = make_run("base", *changes, seed=1, difference="attention=additive")
    base = make_run("base", seed=2)
    message = refusal(tmp_path / "runs")
    assert message.startswith(f"model.attention differs, additive in {changed} and scaled_dot in {base}: so do ")
    assert all(change.partition("=")[0] in message for change in changes)
    assert f"only.like={base} " in message
    assert "aiayn report comparison" in message
    assert seen(find(tmp_path / "runs", like=base)) == [("base", 2)]


def test_scale_and_data_are_chosen_by_name_and_fingerprint(make_run: MakeRun, tmp_path: Path) -> None:
    make_run("base")
    make_run("base", "scale=demo", seed=2)
    make_run("base", "scale=demo", seed=3, data_fingerprint="e" * 64, data="mine")
    runs = tmp_path / "runs"
    assert seen(find(runs, scale="nano")) == [("base", 1)]
    assert seen(find(runs, scale="demo", data="grammar")) == [("base", 2)]
    assert seen(find(runs, data="mine")) == seen(find(runs, data="eee")) == [("base", 3)]
    with pytest.raises(UserError, match=r"only\.scale=paper.*no such run.*scale demo.*scale nano"):
        find(runs, scale="paper")


def test_unfinished_runs_are_there_without_counting_and_refuse_nothing(make_run: MakeRun, tmp_path: Path) -> None:
    make_run("base")
    make_run("base", seed=2, status=Status.failed, scores={}, data_fingerprint=None)
    make_run("d_ls0", "model.dropout=0.3", status=Status.interrupted, scores={})
    found = find(tmp_path / "runs")
    assert seen(found) == [("base", 1), ("base", 2)]
    assert [run.record.seed for run in found.scored(load_table3().row("base"))] == [1]
    assert found.left_out == 1


def test_runs_of_other_experiments_are_nothing_to_the_table(make_run: MakeRun, tmp_path: Path) -> None:
    make_run("base", experiment="mine")
    found = find(tmp_path / "runs")
    assert found == ComparableRuns((), 0)


def test_one_seed_counts_once(make_run: MakeRun, tmp_path: Path) -> None:
    run = make_run("base")
    (tmp_path / "runs" / "copy").symlink_to(run.parent, target_is_directory=True)
    assert seen(find(tmp_path / "runs")) == [("base", 1)], "links are not followed"
    (tmp_path / "runs" / "copy").unlink()
    run.parent.rename(tmp_path / "runs" / "copy")
    make_run("base")
    assert "seed 1 of table3/base is there more than once" in refusal(tmp_path / "runs")


def test_a_run_to_compare_with_has_to_be_one_of_the_tables(make_run: MakeRun, tmp_path: Path) -> None:
    make_run("base")
    stranger = make_run("base", "optimization.adam_beta2=0.9", experiment="mine")
    with pytest.raises(UserError, match=r"only\.like=.*not among"):
        find(tmp_path / "runs", like=stranger)
    with pytest.raises(UserError, match=r"only\.like=nowhere: not a run directory"):
        find(tmp_path / "runs", like="nowhere")


def test_a_frozen_configuration_that_is_gone_is_named(make_run: MakeRun, tmp_path: Path) -> None:
    run = make_run("base")
    make_run("a_h1")
    for damage in ("a: [", None):
        if damage is None:
            (run / "config.yaml").unlink()
        else:
            (run / "config.yaml").write_text(damage)
        found = comparable_runs(read_results(tmp_path / "runs"), tmp_path, scale=None, data=None, like=None)
        assert [each.row.id for each in found.runs] == ["a_h1"]
        (line,) = found.damaged
        assert line.startswith(f"left out: {run / 'config.yaml'}")
