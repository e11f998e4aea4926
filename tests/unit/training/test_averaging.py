"""The mean of checkpoints, and the steps that it averages."""

import tempfile
from fractions import Fraction
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from aiayn.errors import UserError
from aiayn.training.averaging import averaged_checkpoint, averaged_steps
from aiayn.training.checkpoint_io import save_checkpoint

singles = st.floats(-(2.0**100), 2.0**100, width=32, allow_subnormal=False)
columns = st.integers(1, 4).flatmap(
    lambda width: st.lists(st.lists(singles, min_size=width, max_size=width), min_size=1)
)


def written(folder: Path, weights: dict[str, Tensor], *, step: int = 1, run: str = "one") -> Path:
    path = folder / f"{run}-{step:07d}.ckpt"
    own = {"provenance": {"config_hash": run}}
    save_checkpoint({"state_dict": weights, "global_step": step, "aiayn": own}, path)
    return path


@settings(max_examples=25)  # each writes files, and syncs them
@given(columns)
def test_each_weight_is_the_mean_rounded_once(values: list[list[float]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        paths = [written(Path(folder), {"w": torch.tensor(row)}, step=step) for step, row in enumerate(values, 1)]
        content = averaged_checkpoint(paths)
    assert content["aiayn"]["averaged_steps"] == list(range(1, len(values) + 1))
    assert content["global_step"] == len(values)
    mean = content["state_dict"]["w"]
    assert mean.dtype == torch.float32
    for got, *own in zip(mean.tolist(), *values, strict=True):
        exact = sum(map(Fraction, own), Fraction()) / len(own)
        largest = max(map(abs, own))
        assert abs(Fraction(got) - exact) <= abs(exact) * Fraction(2**-24) + Fraction(largest) * Fraction(
            2**-48
        ) + Fraction(2**-149)


@settings(max_examples=15)
@given(st.lists(singles, min_size=1, max_size=5), st.integers(1, 20))
def test_the_mean_of_one_or_of_copies_of_it_is_itself(row: list[float], count: int) -> None:
    weights = {"w": torch.tensor(row), "half": torch.tensor(row).bfloat16(), "rows": torch.arange(3)}
    with tempfile.TemporaryDirectory() as folder:
        paths = [written(Path(folder), weights, step=step) for step in range(1, count + 1)]
        mean = averaged_checkpoint(paths)["state_dict"]
    assert mean.keys() == weights.keys()
    assert all(torch.equal(mean[name], weights[name]) and mean[name].dtype == weights[name].dtype for name in weights)


@pytest.mark.parametrize(
    ("other", "name"),
    [
        ({"w": torch.ones(2, 3)}, "w"),
        ({}, "w"),
        ({"w": torch.ones(3, 2), "more": torch.ones(1)}, "more"),
        ({"w": torch.ones(3, 2, dtype=torch.int64)}, "w"),
    ],
)
def test_other_architectures_are_refused_by_name(tmp_path: Path, other: dict[str, Tensor], name: str) -> None:
    paths = [written(tmp_path, {"w": torch.ones(3, 2)}), written(tmp_path, other, step=2)]
    with pytest.raises(UserError) as refusal:
        averaged_checkpoint(paths)
    assert str(refusal.value).startswith(f"{paths[1]}: {name} has another shape than in {paths[0].name}")


def test_another_run_is_averaged_only_without_provenance(tmp_path: Path) -> None:
    paths = [written(tmp_path, {"w": torch.tensor([value])}, run=name) for name, value in (("one", 1.0), ("two", 4.0))]
    assert averaged_checkpoint(paths)["state_dict"]["w"].item() == 2.5
    with pytest.raises(UserError, match=r"two-0000001\.ckpt: a checkpoint of another run \(config_hash two, not one\)"):
        averaged_checkpoint(paths, provenance={"config_hash": "one"})


@given(st.integers(1, 400), st.integers(1, 90), st.integers(1, 9), st.data())
def test_averaged_steps_are_counted_back_from_the_end(
    max_steps: int, interval: int, checkpoints: int, data: st.DataObject
) -> None:
    step = data.draw(st.integers(0, max_steps))
    due = [each for each in range(1, step + 1) if (max_steps - each) % interval == 0]
    found = averaged_steps(step, max_steps=max_steps, interval=interval, checkpoints=checkpoints)
    assert list(found) == due[-checkpoints:]
    if step == max_steps:
        assert found[-1] == max_steps


def test_any_number_of_averaged_steps_takes_no_time() -> None:
    found = averaged_steps(10**9, max_steps=10**9, interval=1, checkpoints=10**12)
    assert (len(found), found[0], found[-1]) == (10**9, 1, 10**9)
