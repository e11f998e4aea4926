"""A real run's record says what it cost, however often it was stopped."""

import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from commands import Train, signal_at

from aiayn.builders.cost import model_cost
from aiayn.commands.front_end import main
from aiayn.config.freeze import load_config
from aiayn.runs.cost import Basis, RunCost
from aiayn.runs.record import Record, json_text, read_record


def of(run: Path) -> tuple[Record, RunCost]:
    record = read_record(run / "run.json")
    assert record.cost is not None
    assert not (run / ".cost.json").exists()
    return record, record.cost


def counted(cost: RunCost) -> tuple[int, ...]:
    """What does not depend on the clock."""
    names = ("source_tokens", "target_tokens", "flops")
    return tuple(sum(getattr(attempt, name) for attempt in cost.attempts) for name in names)


def test_a_whole_run_counts_once_what_it_did(trained_run: Path) -> None:
    record, cost = of(trained_run)
    (attempt,) = cost.attempts
    assert attempt.fitting_seconds == pytest.approx(record.seconds)
    assert min(attempt.training_seconds, attempt.validation_seconds or 0.0, attempt.evaluation_seconds) > 0
    assert (attempt.source_tokens or 0) + (attempt.target_tokens or 0) == record.tokens
    model = model_cost(load_config(trained_run / "config.yaml").model, vocabulary_size=record.vocabulary_rows or 0)
    tokens = {"source_tokens": attempt.source_tokens, "target_tokens": attempt.target_tokens}
    assert cost.total.flops == record.flops == model.training_flops(**tokens)
    (device,) = attempt.devices
    assert (device.name, device.count, device.basis) == (record.hardware["processor"], 1, Basis.measured)
    assert cost.total.mfu == pytest.approx(
        (record.flops or 0) / attempt.training_seconds / (device.peak_flops or 1), rel=1e-6
    )


def test_stopped_and_killed_runs_cost_what_was_done(
    train: Train, tmp_path: Path, trained_run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert train(signal_at(5), "cost.price_per_device_hour=2") == 1
    (path,) = tmp_path.glob("runs/*/*/*/run.json")
    _, first = of(path.parent)
    # What an attempt leaves that is killed ten seconds after it took the run up.
    killed = replace(first.attempts[0], training_seconds=10.0, validation_seconds=0.0)
    (path.parent / ".cost.json").write_text(json_text(asdict(RunCost.of([*first.attempts, killed]))))
    assert train("cost.price_per_device_hour=4") == 0
    record, cost = of(path.parent)
    before, lost, after = cost.attempts
    assert (before, lost) == (first.attempts[0], killed)
    whole = of(trained_run)[1]
    assert counted(RunCost.of([before, after])) == pytest.approx(counted(whole))
    assert cost.total.device_hours * 3600 == pytest.approx(sum(attempt.seconds for attempt in cost.attempts))
    assert cost.total.price == pytest.approx((2 * (before.seconds + lost.seconds) + 4 * after.seconds) / 3600)
    capsys.readouterr()
    assert main(["report", "cost", f"output={tmp_path / 'cost.json'}"]) == 0
    (told,) = json.loads((tmp_path / "cost.json").read_text())["runs"]
    kept = before.fitting_seconds + after.fitting_seconds
    assert told["lost_seconds"] == pytest.approx(10.0 + kept - record.seconds), "however slow the machine is"
    assert told["total"] == json.loads(path.read_text())["cost"]["total"]
