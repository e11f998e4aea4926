"""A window holds the sums between two log lines, also when a checkpoint cuts it in two."""

import json
import math
from typing import TypeAlias

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from aiayn.training.meter import Meter

Steps: TypeAlias = list[tuple[float, float, int, int]]

steps = st.lists(
    st.tuples(st.floats(0.0, 1e4), st.floats(0.0, 1e3), st.integers(1, 10**6), st.integers(1000, 10**6)), min_size=1
)


def count(meter: Meter, steps: Steps) -> None:
    for smoothed, nll, source, target in steps:
        meter.add_losses(smoothed=torch.tensor(smoothed), nll=torch.tensor(nll))
        meter.add_step(source_tokens=source, target_tokens=target)


@given(steps)
def test_a_window_is_sums_over_tokens(steps: Steps) -> None:
    meter = Meter()
    count(meter, steps)
    metrics = meter.metrics(meter.losses)
    tokens = sum(target for *_, target in steps)
    assert metrics["train/loss"] == pytest.approx(sum(smoothed for smoothed, *_ in steps) / tokens, rel=1e-5)
    assert metrics["train/ppl"] == pytest.approx(math.exp(sum(nll for _, nll, *_ in steps) / tokens), rel=1e-5)
    assert metrics["train/tokens_per_second"] > 0


@given(steps, st.data())
def test_a_checkpoint_in_a_window_changes_nothing(steps: Steps, data: st.DataObject) -> None:
    whole = Meter()
    count(whole, steps)
    cut = data.draw(st.integers(0, len(steps)))
    before, after = Meter(), Meter()
    count(before, steps[:cut])
    after.reset(torch.device("cpu"))
    after.restore(json.loads(json.dumps(before.state(before.losses))), with_losses=True)
    count(after, steps[cut:])
    assert after.state(after.losses) == whole.state(whole.losses)


@given(steps, steps)
def test_the_speed_is_of_the_steps_since_a_resumption(before: Steps, after: Steps) -> None:
    earlier, resumed, fresh = Meter(), Meter(), Meter()
    count(earlier, before)
    resumed.restore(earlier.state(earlier.losses), with_losses=True)
    for meter in (resumed, fresh):
        count(meter, after)
        meter.started -= 1e6  # seconds, beside which those of this test are nothing
    speeds = [meter.metrics(meter.losses)["train/tokens_per_second"] for meter in (resumed, fresh)]
    assert speeds[0] == pytest.approx(speeds[1], rel=1e-4)


@given(steps)
def test_one_rank_restores_the_sums_of_all(steps: Steps) -> None:
    whole = Meter()
    count(whole, steps)
    state = whole.state(whole.losses)
    ranks = [Meter(), Meter(), Meter()]
    for rank, meter in enumerate(ranks):
        meter.restore(state, with_losses=rank == 0)
    assert torch.equal(torch.stack([meter.losses for meter in ranks]).sum(dim=0), whole.losses)
    assert {meter.target_tokens for meter in ranks} == {whole.target_tokens}, "which every rank counts for all"


def test_counting_keeps_no_graph() -> None:
    meter = Meter()
    loss = torch.ones((), requires_grad=True) * 2
    meter.add_losses(smoothed=loss, nll=loss)
    assert not meter.losses.requires_grad
