"""The meter of an attempt counts what training counts, and keeps it on disk in case of a kill."""

import time
from pathlib import Path

import torch
from tiny import ARCHITECTURE

from aiayn.builders.cost import transformer_cost
from aiayn.config.schema import CostConfig
from aiayn.costs.accounting import CostMeter, cost_meter
from aiayn.runs.cost import Attempt, Basis, Devices, RunCost
from aiayn.training.meter import AttemptCounters

CPU = torch.device("cpu")
MODEL = transformer_cost(ARCHITECTURE, vocabulary_size=100)
ATTEMPT = Attempt("2026-11-22T00:00:00+00:00", (Devices("P100", 8, 9.5e12, 9.5e12, Basis.paper),), 1.5, "USD")


def test_operations_follow_from_the_counted_tokens(tmp_path: Path) -> None:
    meter = CostMeter(tmp_path / "cost.json", earlier=[ATTEMPT], attempt=ATTEMPT)
    spent = AttemptCounters()
    meter.follow(spent, MODEL)
    for step in (1, 2):
        spent.source_tokens += 70
        spent.target_tokens += 80
        spent.training_seconds += 2.0
        earlier, present = meter.account().attempts
        assert earlier == ATTEMPT
        assert present.flops == MODEL.training_flops(source_tokens=70 * step, target_tokens=80 * step)
        assert meter.account().total.paper_flops == 2.0 * step * 8 * 9.5e12


def test_costs_are_written_during_the_attempt(tmp_path: Path) -> None:
    path, spent = tmp_path / "cost.json", AttemptCounters()
    meter = CostMeter(path, earlier=[], attempt=ATTEMPT, write_seconds=0.01)
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


def test_an_attempt_starts_with_its_device_and_price(tmp_path: Path) -> None:
    config = CostConfig(price_per_device_hour=3.0, currency="EUR", probe_seconds=0.0)
    meter = cost_meter(
        tmp_path / "cost.json", config, earlier=[ATTEMPT], started="now", device=CPU, precision="32-true"
    )
    assert meter is not None
    earlier, attempt = meter.account().attempts
    price = attempt.price_per_device_hour
    assert (earlier, attempt.count, price, attempt.currency, attempt.seconds) == (ATTEMPT, 1, 3.0, "EUR", 0.0)
