"""Whatever the shape of the machine: the same sentences in the same step, the same gradients, the same weights."""

import json
import subprocess
from collections import defaultdict
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
from commands import AIAYN
from run_files import losses, only_run
from torch import Tensor

from aiayn.runs.record import Status, read_record

pytestmark = pytest.mark.long

STEPS = 10
SHAPED = (
    f"optimization.max_steps={STEPS}",
    "optimization.source_tokens=200",
    "optimization.target_tokens=200",
    "data.sentences=255",
    "data.max_length=28",
    "optimization.warmup_steps=100",
    "model.dropout=0.0",
    "trainer.precision=32-true",
)
"""Seven steps a pass over the corpus, one of them of a single sentence. Learning rates are those of real runs: at those
of other tests here Adam blows rounding up."""

PER_DEVICE = {1: 200, 8: 28}
"""Tokens that a device may hold for a step to be so many micro-batches."""

ALONE = (1, 1)
SHAPES = [(1, 8), (2, 4), (8, 1)]
"""Processes and accumulations."""

BIASED = ("model.projection_bias=true",)


class Trained(NamedTuple):
    """A run in some shape, and what its ranks recorded."""

    run: Path
    ranks: list[list[dict[str, Any]]]
    """Of each rank, its micro-batches in order."""
    gradients: list[list[dict[str, Tensor]]]
    """Of each step, those that each rank stepped with, by parameter."""

    @property
    def steps(self) -> dict[int, list[int]]:
        """The sentences of each step, over all ranks, sorted."""
        found: dict[int, list[int]] = defaultdict(list)
        for seen in (seen for rank in self.ranks for seen in rank):
            found[seen["step"]] += seen["sentences"]
        return {step: sorted(sentences) for step, sentences in found.items()}

    @property
    def losses(self) -> dict[int, float]:
        return losses(self.run)

    @property
    def weights(self) -> dict[str, Tensor]:
        content = torch.load(self.run / "checkpoints" / f"step-{STEPS:07d}.ckpt", weights_only=True)
        state: dict[str, Tensor] = content["state_dict"]
        return state


InShape = Callable[..., Trained]


@pytest.fixture(scope="module")
def in_shape(tiny: tuple[str, ...], tmp_path_factory: pytest.TempPathFactory) -> InShape:
    """Train in a shape as a user would, in a runs folder of its own; each shape once."""

    @cache
    def train(processes: int, accumulation: int, *words: str) -> Trained:
        folder = tmp_path_factory.mktemp(f"{processes}x{accumulation}-")
        shape = (
            f"trainer.devices={processes}",
            f"optimization.max_tokens_per_device={PER_DEVICE[processes * accumulation]}",
        )
        recorder = f"+callbacks.recorder={{_target_: observers.RankRecorder, folder: {folder / 'seen'}}}"
        result = subprocess.run(
            [*AIAYN, "train", *tiny, *SHAPED, "logger=none", *shape, recorder, *words],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert result.returncode == 0, result.stderr
        run = only_run(folder / "runs")
        assert read_record(run / "run.json").status is Status.finished
        seen = sorted((folder / "seen").glob("rank-*.jsonl"))
        assert len(seen) == processes
        return Trained(
            run=run,
            ranks=[[json.loads(line) for line in path.read_text().splitlines()] for path in seen],
            gradients=[
                [torch.load(folder / "seen" / f"gradients-{step}-{rank}.pt") for rank in range(processes)]
                for step in range(STEPS)
            ],
        )

    return train


@pytest.fixture(scope="module", params=SHAPES, ids=lambda shape: "x".join(map(str, shape)))
def shape(request: pytest.FixtureRequest) -> tuple[int, int]:
    shape: tuple[int, int] = request.param
    return shape


def test_the_shapes_are_tried_where_it_is_hard(in_shape: InShape) -> None:
    """An epoch ends in mid-run, and a step has fewer sentences than there are ranks."""
    alone = in_shape(*ALONE)
    assert {seen["epoch"] for seen in alone.ranks[0]} == {0, 1}
    assert min(map(len, alone.steps.values())) < 2
    assert len(alone.ranks[0]) == STEPS


def test_every_step_covers_the_same_sentences_each_once(in_shape: InShape, shape: tuple[int, int]) -> None:
    alone, shared = in_shape(*ALONE), in_shape(*shape)
    assert shared.steps == alone.steps
    assert sorted(shared.steps) == list(range(STEPS))
    assert sum(seen["tokens"] for rank in shared.ranks for seen in rank) == sum(
        seen["tokens"] for seen in alone.ranks[0]
    )


def test_every_rank_makes_equally_many_micro_batches(in_shape: InShape, shape: tuple[int, int]) -> None:
    _, accumulation = shape
    whole_run = [(step, step * accumulation + part) for step in range(STEPS) for part in range(accumulation)]
    for rank in in_shape(*shape).ranks:
        assert [(seen["step"], seen["micro_batch"]) for seen in rank] == whole_run


def test_losses_and_gradients_are_equal(in_shape: InShape, shape: tuple[int, int]) -> None:
    alone, shared = in_shape(*ALONE), in_shape(*shape)
    assert list(shared.losses) == list(range(1, STEPS + 1))
    assert shared.losses == pytest.approx(alone.losses, rel=1e-5)
    for (expected,), ranks in zip(alone.gradients, shared.gradients, strict=True):
        for gradients in ranks:
            assert_close(gradients, expected)


def test_the_weights_after_ten_steps_are_equal(in_shape: InShape, shape: tuple[int, int]) -> None:
    assert_close(in_shape(*shape).weights, in_shape(*ALONE).weights)


def test_with_biased_projections_too_but_for_the_keys(in_shape: InShape) -> None:
    """A key's bias adds the same to all scores of a query, and softmax ignores it: its gradient is only rounding.

    Adam makes full steps of that, so these biases go their own way, and change nothing.
    """
    alone, shared = in_shape(*ALONE, *BIASED), in_shape(2, 4, *BIASED)
    assert shared.steps == alone.steps
    assert shared.losses == pytest.approx(alone.losses, rel=1e-5)
    (own, _), (expected, _) = (split_keys(trained.weights) for trained in (shared, alone))
    assert_close(own, expected)
    for gradients, *_ in (*alone.gradients, *shared.gradients):
        rest, keys = split_keys(gradients)
        assert largest(keys) < 1e-6 * largest(rest)


def split_keys(weights: dict[str, Tensor]) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Weights but for the biases of keys, and these alone: parts of combined projections (`models/attention.py`)."""
    rest, keys = dict(weights), {}
    for name, weight in weights.items():
        if name.endswith("query_key_value.bias"):
            query, keys[name], value = weight.chunk(3)  # d_k = d_v here
            rest[name] = torch.cat([query, value])
        elif name.endswith("key_value.bias"):
            keys[name], rest[name] = weight.chunk(2)
    assert len(keys) == 3, "of the encoder, the decoder, and what the decoder sees of the encoder"
    return rest, keys


def largest(tensors: dict[str, Tensor]) -> float:
    return max(float(tensor.abs().max()) for tensor in tensors.values())


def assert_close(own: dict[str, Tensor], expected: dict[str, Tensor]) -> None:
    """Every tensor, to 1e-5 of its largest entry."""
    assert own.keys() == expected.keys()
    for name, value in expected.items():
        assert float((own[name] - value).abs().max()) <= 1e-5 * float(value.abs().max()), name
