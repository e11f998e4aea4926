"""The meter of an attempt counts what training counts, and leaves it where a kill finds it."""

import time
from pathlib import Path

import pytest
import torch
from tiny_architecture import TINY

from aiayn.config.schema import CostConfig
from aiayn.costs import accounting
from aiayn.costs.accounting import CostMeter, OwnDevice, cost_meter, gpu, own_device, product_flops, together
from aiayn.models.cost import Cost
from aiayn.paper.recipe import load_recipe
from aiayn.runs.cost import Attempt, Basis, Devices, RunCost
from aiayn.training.meter import Spent

CPU = torch.device("cpu")
MODEL = Cost(TINY, 100)
ATTEMPT = Attempt("2026-11-22T00:00:00+00:00", (Devices("P100", 8, 9.5e12, 9.5e12, Basis.paper),), 1.5, "USD")


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("Tesla K80", "K80"),
        ("Tesla K40m", "K40"),
        ("Tesla M40 24GB", "M40"),
        ("Tesla P100-SXM2-16GB", "P100"),
        ("Tesla P100-PCIE-12GB", "P100"),
    ],
)
def test_the_papers_gpus_sustain_what_its_footnote_says(name: str, kind: str) -> None:
    found = gpu(name, precision="32-true")
    assert (found.sustained_flops, found.basis) == (load_recipe().hardware.sustained_flops[kind], Basis.paper)


@pytest.mark.parametrize(
    "name", ["NVIDIA A100-SXM4-80GB", "NVIDIA H100 80GB HBM3", "NVIDIA H200", "Tesla V100-SXM2-16GB"]
)
def test_later_gpus_have_their_makers_peak_in_each_precision(name: str) -> None:
    single, half = (gpu(name, precision=precision) for precision in ("32-true", "bf16-mixed"))
    assert single.sustained_flops == single.peak_flops == half.sustained_flops
    assert half.peak_flops is not None
    assert half.peak_flops > 4 * (single.peak_flops or 0)
    assert single.basis is half.basis is Basis.stated
    assert gpu(name, precision="64-true").peak_flops is None


@pytest.mark.parametrize("name", ["NVIDIA A100-SXM4-80GB MIG 1g.10gb", "NVIDIA H100 PCIe", "GeForce GT 730", "M4000"])
def test_of_other_gpus_nothing_is_invented(name: str) -> None:
    assert gpu(name, precision="bf16-mixed") == Devices(name, 1)


def test_a_processor_is_measured_or_left_out() -> None:
    assert product_flops(0.01) > 1e8
    measured, half, left_out = (
        own_device(CPU, precision=precision, probe_seconds=seconds).devices
        for precision, seconds in (("32-true", 0.01), ("bf16-mixed", 0.01), ("32-true", 0.0))
    )
    assert measured.basis is Basis.measured
    assert measured.peak_flops == measured.sustained_flops
    assert half.peak_flops is None
    assert (left_out.sustained_flops, left_out.peak_flops, left_out.basis) == (None, None, None)


def test_ranks_on_devices_of_one_name_stand_together() -> None:
    names = ["A", "B", "A", "A"]
    ranks = [
        OwnDevice("host", None, Devices(name, 1, speed, None, Basis.measured))
        for name, speed in zip(names, (1.0, 5.0, 2.0, 3.0), strict=True)
    ]
    assert together(ranks) == (
        Devices("A", 3, 2.0, None, Basis.measured),
        Devices("B", 1, 5.0, None, Basis.measured),
    )


def test_operations_are_those_of_the_tokens_that_were_counted(tmp_path: Path) -> None:
    meter = CostMeter(tmp_path / "cost.json", earlier=[ATTEMPT], attempt=ATTEMPT)
    spent = Spent()
    meter.follow(spent, MODEL)
    for step in (1, 2):
        spent.source_tokens += 70
        spent.target_tokens += 80
        spent.padded_source_tokens += 75
        spent.padded_target_tokens += 90
        spent.training_seconds += 2.0
        earlier, present = meter.account().attempts
        assert earlier == ATTEMPT
        assert present.flops == MODEL.training_flops(source_tokens=70 * step, target_tokens=80 * step)
        assert present.padded_flops == MODEL.training_flops(source_tokens=75 * step, target_tokens=90 * step)
        assert meter.account().total.paper_flops == 2.0 * step * 8 * 9.5e12


def test_what_was_spent_is_on_disk_while_the_attempt_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(accounting, "BEAT_SECONDS", 0.01)
    path, spent = tmp_path / "cost.json", Spent()
    meter = CostMeter(path, earlier=[], attempt=ATTEMPT)
    with meter.counting(), meter.evaluating():
        assert RunCost.kept(path) is not None
        meter.follow(spent, MODEL)
        spent.source_tokens, spent.training_seconds = 70, 2.0
        end = time.monotonic() + 30
        while not (
            (kept := RunCost.kept(path)) and kept.attempts[0].source_tokens and kept.attempts[0].evaluation_seconds
        ):
            assert time.monotonic() < end
            time.sleep(0.01)
    assert kept.attempts[0].training_seconds == 2.0
    (attempt,) = meter.account().attempts
    assert attempt.evaluation_seconds >= kept.attempts[0].evaluation_seconds > 0
    assert meter.account().attempts[0].evaluation_seconds == attempt.evaluation_seconds, "it is over"


def test_an_attempt_begins_with_its_device_and_its_price(tmp_path: Path) -> None:
    config = CostConfig(price_per_device_hour=3.0, currency="EUR", probe_seconds=0.0)
    meter = cost_meter(
        tmp_path / "cost.json", config, earlier=[ATTEMPT], started="now", device=CPU, precision="32-true"
    )
    assert meter is not None
    earlier, attempt = meter.account().attempts
    assert (earlier, attempt.count, attempt.price_per_device_hour, attempt.currency, attempt.seconds) == (
        ATTEMPT,
        1,
        3.0,
        "EUR",
        0.0,
    )
