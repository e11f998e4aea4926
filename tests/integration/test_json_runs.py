"""format=json of commands that train or use a model."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from json_documents import read_document
from tiny import TINY

from aiayn.runs.record import read_record

Say = Callable[..., Any]


@pytest.mark.slow
def test_a_run_and_a_sweep_are_one_document_each(say: Say) -> None:
    words = [*TINY, "logger=none", "paths.runs=runs"]
    said = say("train", *words, "format=json")
    assert said.code == 0, said.err
    alone = read_document(said.out)
    run = Path(alone["run"])
    assert read_record(run / "run.json").config_hash == alone["record"]["config_hash"]
    assert "format: json" not in (run / "config.yaml").read_text()
    assert "format=" not in alone["record"]["command"]
    said = say("train", "-m", *words, "model.dropout=0.1,2", "format=json")
    assert said.code == 1, "a dropout of 2 is refused"
    done, refused = read_document(said.out)["jobs"]
    assert (done["state"], done["scores"].keys()) == ("finished", {"dev", "test"})
    assert refused["state"] == "refused"
    assert "model.dropout=2" in refused["message"]


@pytest.mark.parametrize(
    "line",
    [
        "evaluate run={run} splits=dev",
        "tune run={run} beam_sizes=[1,2] alphas=[0.6]",
        "compare run={run} against={run} split=dev",
        "report matrix run={run}",
        "report run run={run}",
        "check",
    ],
)
def test_commands_that_use_a_model(say: Say, trained_run: Path, line: str) -> None:
    said = say(*line.format(run=trained_run).split(), "format=json")
    assert said.code == 0, said.err
    read_document(said.out)
