"""Two configurations are the same run exactly when nothing that can change a result differs."""

import copy
from typing import Any

import pytest

from aiayn.config.compose import compose_command
from aiayn.config.freeze import plain, to_dataclass
from aiayn.config.history import BEFORE
from aiayn.config.identity import configuration_hash
from aiayn.config.schema import TrainConfig

NEUTRAL = [
    "paths.runs=elsewhere",
    "paths.cache=elsewhere",
    "logger=none",
    "logger.mode=disabled",
    "trainer.devices=2",
    "trainer.enable_progress_bar=false",
    "launch.timeout_seconds=5",
    "optimization.max_tokens_per_device=1000",
    "optimization.checkpoint_interval=7",
    "decoding.batch_tokens=99",
    "decoding.ends_among=candidates",
    "decoding.constrained=false",
    "averaging=none",
    "data.filters.max_ratio=null",
    "launch.preparation_processes=3",
]
DECISIVE = [
    "seed=2",
    "model.d_ff=64",
    "model.positions=learned",
    "optimization.max_steps=501",
    "optimization.source_tokens=1999",
    "decoding.beam_size=5",
    "decoding.ends_among=beam",
    "data.seed=1",
    "data.sentences=300",
    "tokenizer.vocabulary_size=500",
    "tokenizer.kind=word_piece",
    "data.pretokenized=true",
    "data.filters.max_ratio=9",
    "data.filters.duplicates=true",
    "trainer.precision=bf16-mixed",
    "trainer.max_time=00:00:01:00",
    "trainer.gradient_clip_val=1.0",
    "init_from=somewhere",
    "averaging=base",
    "averaging=big",
]


def identity(*overrides: str) -> str:
    return str(compose_command("train", overrides).identity.hash)


@pytest.mark.parametrize("override", NEUTRAL)
def test_what_cannot_change_a_result_keeps_the_run(override: str) -> None:
    assert identity(override) == identity()


@pytest.mark.parametrize("override", DECISIVE)
def test_what_can_change_a_result_makes_another_run(override: str) -> None:
    assert identity(override) != identity()


def test_what_a_corpus_is_expected_to_hold_changes_no_result() -> None:
    assert identity("data=multi30k", "data.sentences.test=3", "data.sentences.train=null") == identity("data=multi30k")
    assert identity("data=multi30k", "data.streaming=true") == identity("data=multi30k")
    assert identity("data=multi30k", "data.splits.test='test[:9]'") != identity("data=multi30k")


def test_the_same_values_reached_by_another_way_are_the_same_run() -> None:
    assert identity("experiment=table3/a_h4") == identity("model.num_heads=4")


def without_empty(content: dict[str, Any]) -> dict[str, Any]:
    return {
        key: without_empty(value) if isinstance(value, dict) else value for key, value in content.items() if value != {}
    }


def test_a_run_from_before_there_was_a_key_is_still_the_same_run() -> None:
    content = plain(to_dataclass(compose_command("train", []), TrainConfig))
    older = copy.deepcopy(content)
    for key in BEFORE:
        *groups, name = key.split(".")
        part = older
        for group in groups:
            part = part[group]
        part.pop(name, None)  # some are of another kind of corpus
    older = without_empty(older)  # groups that are younger as a whole
    assert not {"averaging", "cost"} & older.keys()
    assert "filters" not in older["data"]
    assert configuration_hash(older, fidelity="paper") == configuration_hash(content, fidelity="paper")
    older["decoding"]["ends_among"] = "beam"
    assert configuration_hash(older, fidelity="paper") != configuration_hash(content, fidelity="paper")
