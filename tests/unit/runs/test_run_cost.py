"""Attempts add up, an unknown is not 0, and the paper's definition gives the paper's numbers."""

import dataclasses
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aiayn.errors import UserError
from aiayn.paper.recipe import load_recipe
from aiayn.paper.tables import load_table2
from aiayn.runs.cost import Attempt, Basis, Devices, RunCost, Total
from aiayn.runs.record import json_text

PARTS = ("training_seconds", "validation_seconds", "evaluation_seconds", "flops", "gpu_joules")
COUNTS = ("source_tokens", "target_tokens")

amounts = st.floats(1.0, 1e6)
rates = st.none() | st.floats(1e9, 1e15)
devices = st.builds(
    Devices, st.sampled_from(["P100", "H100"]), st.integers(1, 64), rates, rates, st.sampled_from([None, *Basis])
)
accounts = st.builds(
    Attempt,
    started=st.just("2026-11-22T00:00:00+00:00"),
    devices=st.lists(devices, min_size=1, max_size=3).map(tuple),
    price_per_device_hour=st.none() | st.floats(0, 100),
    currency=st.sampled_from(["USD", "EUR"]),
    **dict.fromkeys(PARTS, amounts),
    **dict.fromkeys(COUNTS, st.integers(0, 10**12)),
    processor_joules=st.none(),
)


def cut(attempt: Attempt, share: float) -> tuple[Attempt, Attempt]:
    """The same attempt, stopped and resumed."""
    first = {name: getattr(attempt, name) * share for name in PARTS}
    second = {name: getattr(attempt, name) - first[name] for name in PARTS}
    return dataclasses.replace(attempt, **first), dataclasses.replace(attempt, **second)


@settings(max_examples=30)
@given(accounts, st.floats(0.05, 0.95))
def test_a_resumed_run_costs_as_much_as_an_uninterrupted_one(attempt: Attempt, share: float) -> None:
    whole, resumed = (dataclasses.asdict(Total.of(attempts)) for attempts in ([attempt], cut(attempt, share)))
    for name, value in whole.items():
        expected = pytest.approx(value, rel=1e-6) if isinstance(value, float) else value
        assert resumed[name] == expected, name


@settings(max_examples=30)
@given(accounts)
def test_totals_multiply_by_known_rates(attempt: Attempt) -> None:
    total = Total.of([attempt])
    assert total.device_hours * 3600 == pytest.approx(attempt.seconds * attempt.count)
    if total.paper_flops is None:
        assert any(each.sustained_flops is None for each in attempt.devices)
    else:
        sustained = sum((each.sustained_flops or 0.0) * each.count for each in attempt.devices)
        assert total.paper_flops == pytest.approx((attempt.seconds - attempt.evaluation_seconds) * sustained)
    if total.mfu is None:
        assert any(each.peak_flops is None for each in attempt.devices)
    else:
        peak = sum((each.peak_flops or 0.0) * each.count for each in attempt.devices)
        assert total.mfu * peak == pytest.approx(attempt.flops / attempt.training_seconds)


@pytest.mark.parametrize(("model", "row"), [("base", "transformer_base"), ("big", "transformer_big")])
def test_the_papers_time_on_the_papers_gpus_is_the_papers_cost(model: str, row: str) -> None:
    recipe = load_recipe()
    hardware = recipe.hardware
    gpus = Devices(hardware.gpu, hardware.devices, hardware.sustained_flops[hardware.gpu], None, Basis.paper)
    attempt = Attempt(None, (gpus,), training_seconds=recipe.training[model].hours * 3600)
    printed = {system.id: system for system in load_table2().rows}[row].flops_en_de
    assert f"{Total.of([attempt]).paper_flops:.1e}".replace("e+", "e") == str(printed)


def test_an_unknown_of_one_attempt_is_unknown_in_the_sum() -> None:
    known = Attempt(
        None, (Devices("P100", 1, 1e12, 1e12),), 2.0, "USD", training_seconds=60.0, gpu_joules=5.0, flops=1.0
    )
    unknowns: list[dict[str, Any]] = [
        {"devices": (Devices("unheard of", 1),)},
        {"gpu_joules": None},
        {"price_per_device_hour": None},
        {"currency": "EUR"},
    ]
    for change in unknowns:
        missing = Total.of([known, dataclasses.replace(known, **change)])
        lost = [
            name for name, value in vars(Total.of([known])).items() if value is not None and vars(missing)[name] is None
        ]
        assert lost, change
        assert missing.device_hours == 2 * Total.of([known]).device_hours
    idle = dataclasses.replace(known, training_seconds=0.0, gpu_joules=None, price_per_device_hour=None)
    assert Total.of([known, idle]).price == Total.of([known]).price, "an attempt that did nothing costs nothing"


@settings(max_examples=30)
@given(st.lists(accounts, max_size=3))
def test_an_account_reads_back_as_it_was_written(
    tmp_path_factory: pytest.TempPathFactory, attempts: list[Attempt]
) -> None:
    cost, path = RunCost.of(attempts), tmp_path_factory.mktemp("run") / ".cost.json"
    path.write_text(json_text(dataclasses.asdict(cost)))
    assert RunCost.kept(path) == cost


def test_other_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / ".cost.json"
    assert RunCost.kept(path) is None
    for text in ("", "[]", "{}", '{"attempts": [{"colour": "red"}]}'):
        path.write_text(text)
        with pytest.raises(UserError, match=rf"^{re.escape(str(path))}: .*; remove it$"):
            RunCost.kept(path)
