"""Records of runs that never were."""

from collections.abc import Callable
from typing import Any

import pytest

from aiayn.runs.record import SCHEMA_VERSION, Record, SignedScore, SplitScores, Status

MakeRecord = Callable[..., Record]


@pytest.fixture
def scores() -> dict[str, SplitScores]:
    return {
        split: SplitScores(
            ppl=number,
            bleu=SignedScore(10 * number, f"nrefs:1|{split}"),
            chrf=SignedScore(20 * number, f"nrefs:1|chars:6|{split}"),
            sentences=1000 * int(number),
            checkpoint_step=12,
            seconds=30.0,
            hypotheses=f"evaluations/{split}.hypotheses.txt",
        )
        for split, number in (("dev", 2.125), ("test", 3.875))
    }


@pytest.fixture
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
