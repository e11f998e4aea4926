"""Records of runs that never were."""

import dataclasses
import json
import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from aiayn.config.compose import compose_command
from aiayn.config.freeze import frozen_text, to_dataclass
from aiayn.config.schema import TrainConfig
from aiayn.config.third_parties import trial_reason
from aiayn.evaluation.score import Score
from aiayn.evaluation.sentences import SentenceScores, write_sentence_scores
from aiayn.runs.record import SCHEMA_VERSION, Record, SplitScores, Status
from aiayn.system import files

MakeRecord = Callable[..., Record]


@pytest.fixture
def scores() -> dict[str, SplitScores]:
    return {
        split: SplitScores(
            ppl=number,
            bleu=Score(10 * number, f"nrefs:1|{split}"),
            chrf=Score(20 * number, f"nrefs:1|chars:6|{split}"),
            sentences=1000 * int(number),
            checkpoint_step=12,
            seconds=30.0,
            hypotheses=f"evaluations/{split}.hypotheses.txt",
        )
        for split, number in (("dev", 2.125), ("test", 3.875))
    }


@pytest.fixture(scope="session")
def make_record() -> MakeRecord:
    """A record with some fields changed."""

    def make(**changes: Any) -> Record:
        fields: dict[str, Any] = {
            "schema_version": SCHEMA_VERSION,
            "run_id": "0123abcd",
            "name": "table3/base/demo-seed1-00000000",
            "experiment": "table3/base",
            "scale": "demo",
            "fidelity": "paper",
            "seed": 7,
            "command": "aiayn train data.name='[bold]'",
            "config_hash": "00000000",
            "data": "grammar",
            "status": Status.finished,
            "steps": 12_345,
            "parameters": 1_250_000,
        }
        return Record(**fields | changes)

    return make


MakeRun = Callable[..., Path]


@pytest.fixture(scope="session")
def frozen_row() -> Callable[..., TrainConfig]:
    """The configuration that an experiment is frozen to; composed once."""

    @cache
    def compose(row: str, *overrides: str) -> TrainConfig:
        return to_dataclass(compose_command("train", [f"experiment={row}", "scale=nano", *overrides]), TrainConfig)

    return compose


@pytest.fixture(scope="session")
def make_run_in(make_record: MakeRecord, frozen_row: Callable[..., TrainConfig]) -> MakeRun:
    """A finished run of a row, its frozen configuration real and its sentences' scores drawn.

    The row is one of Table 3, or with its table's name one of another; `curve` is its perplexity on dev by step.
    """

    def make(
        runs: Path,
        row: str,
        *overrides: str,
        seed: int = 1,
        nll: float = 2.0,
        match: float = 0.7,
        sentences: int = 60,
        signature: str = "nrefs:1|tok:13a",
        source_lengths: Sequence[int] = (10,),
        split: str = "dev",
        matrix: Mapping[str, float] | None = None,
        averaged_steps: tuple[int, ...] = (),
        curve: Mapping[int, float] | None = None,
        **changes: Any,
    ) -> Path:
        experiment = row if "/" in row else f"table3/{row}"
        config = dataclasses.replace(frozen_row(experiment, *overrides), seed=seed)
        scale = config.identity.scale
        folder = runs / f"{experiment}/{scale}-seed{seed}-{config.identity.hash}"
        evaluation = Path("evaluations/step-0000012")
        hardness = np.random.default_rng(0).uniform(0.5, 1.5, sentences)  # of each sentence, for all runs alike
        luck = np.random.default_rng(seed).normal(0, 0.05, sentences)
        rows: list[SentenceScores] = []
        for hard, lucky in zip(hardness, luck, strict=True):
            matches = [int(order * max(0.0, match + lucky) / hard) for order in (20, 19, 18, 17)]
            statistics = (20, 20, *(min(count, 17) for count in matches), 20, 19, 18, 17)
            length = source_lengths[len(rows) % len(source_lengths)]
            rows.append(SentenceScores(nll * 21 * (hard + lucky), 21, length, statistics))
        write_sentence_scores(folder / evaluation / f"{split}.sentences.jsonl", rows)
        files.write_text(folder / "config.yaml", frozen_text(config))
        if curve is not None:
            finite = {step: ppl if math.isfinite(ppl) else None for step, ppl in curve.items()}  # as it is logged
            lines = (json.dumps({"step": step, "val/ppl": ppl}) for step, ppl in finite.items())
            files.write_text(folder / "metrics.jsonl", "".join(f"{line}\n" for line in lines))
        scores = SplitScores(
            ppl=math.exp(sum(row.nll for row in rows) / sum(row.tokens for row in rows)),
            bleu=Score(30.0, signature),
            chrf=Score(50.0, "chrF"),
            sentences=sentences,
            checkpoint_step=12,
            seconds=1.0,
            hypotheses=str(evaluation / f"{split}.hypotheses.txt"),
            averaged_steps=averaged_steps,
            matrix={name: Score(score, f"{name}:1") for name, score in (matrix or {}).items()},
        )
        fields = {"data_fingerprint": "f" * 64, "scores": {split: scores}, "scale": scale} | changes
        fields = {"trial": trial_reason(config.trainer), "difference": config.identity.difference} | fields
        record = make_record(**{"name": folder.name, "experiment": experiment, "seed": seed} | fields)
        record.write(folder / "run.json")
        return folder

    return make


@pytest.fixture
def make_run(tmp_path: Path, make_run_in: MakeRun) -> MakeRun:
    """The same below tmp_path / "runs"."""
    return partial(make_run_in, tmp_path / "runs")
