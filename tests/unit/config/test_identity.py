"""Two configurations are the same run exactly when nothing that can change a result differs."""

import pytest
from composed_once import run_hash

from aiayn.config.compose import compose_command

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
    "decoding.eos_within=candidates",
    "decoding.constrained=false",
    "decoding.bleu_tokenizer=null",
    "averaging=none",
    "data.filters.max_ratio=null",
    "launch.preparation_processes=3",
]
DECISIVE = [
    "seed=2",
    "model.d_ff=64",
    "model.positions=learned",
    "model.position_offset=2",
    "model.decoder_start=eos",
    "model.activation=swish",
    "model.output_bias=true",
    "model.target_space_embedding=true",
    "optimization.max_steps=501",
    "optimization.patience=3",
    "optimization.source_tokens=1999",
    "decoding.beam_size=5",
    "decoding.eos_within=beam",
    "decoding.length_penalty=power",
    "decoding.bleu_tokenizer=char",
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


@pytest.fixture(scope="module")
def unchanged() -> str:
    return run_hash()


@pytest.mark.parametrize("override", NEUTRAL)
def test_a_neutral_key_keeps_the_run(override: str, unchanged: str) -> None:
    assert run_hash(override) == unchanged


@pytest.mark.parametrize("override", DECISIVE)
def test_a_key_that_can_change_a_result_makes_another_run(override: str, unchanged: str) -> None:
    assert run_hash(override) != unchanged


def test_expected_sizes_of_a_corpus_change_no_result() -> None:
    assert run_hash("data=multi30k", "data.sentences.test=3", "data.sentences.train=null") == run_hash("data=multi30k")
    assert run_hash("data=multi30k", "data.streaming=true") == run_hash("data=multi30k")
    assert run_hash("data=multi30k", "data.splits.test='test[:9]'") != run_hash("data=multi30k")


def test_the_same_values_reached_by_another_way_are_the_same_run(unchanged: str) -> None:
    hashes = [
        compose_command("train", words).identity.hash
        for words in ([], ["experiment=table3/a_h4"], ["model.num_heads=4"])
    ]
    assert hashes[0] == unchanged
    assert hashes[1] == hashes[2] != unchanged
