"""With any number of ranks, each sentence is validated once and each step trains on the same sentences."""

from functools import partial

import pytest
from composed_once import validated
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pytorch_lightning import Trainer

from aiayn.builders.training import build_batches
from aiayn.data.batches.batching import EvaluationStream, TrainingStream
from aiayn.data.preparation.prepared import PreparedData
from aiayn.training.data_module import TranslationDataModule

reuse_fixtures = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25)


@pytest.fixture
def batches(prepared: PreparedData, trainer: Trainer) -> TranslationDataModule:
    first = prepared.tokenizer.bos_id
    batches = TranslationDataModule(
        training=partial(
            TrainingStream, prepared.split("train"), source_tokens=400, target_tokens=400, seed=5, start_id=first
        ),
        validation=partial(EvaluationStream, prepared.split("dev"), tokens=200, start_id=first),
    )
    batches.trainer = trainer
    return batches


@reuse_fixtures
@given(world_size=st.integers(1, 40), tokens=st.integers(1, 2000))
def test_each_sentence_is_validated_on_exactly_one_rank(prepared: PreparedData, world_size: int, tokens: int) -> None:
    split = prepared.split("dev")
    streams = [
        EvaluationStream(split, tokens=tokens, start_id=1, rank=rank, world_size=world_size)
        for rank in range(world_size)
    ]
    served = [list(stream) for stream in streams]
    assert {len(batches) for batches in served} == {len(stream) for stream in streams} == {len(served[0])}
    weighty = [batch for batches in served for batch in batches if batch.num_target_tokens]
    assert sorted(index for batch in weighty for index in batch.indices.tolist()) == list(range(len(split)))
    assert sum(batch.step_target_tokens for batches in served for batch in batches) == split.target.lengths.sum()


def test_the_run_is_one_epoch_of_micro_batches(batches: TranslationDataModule, trainer: Trainer) -> None:
    loader = batches.train_dataloader()
    served = list(loader)
    assert len(served) == len(loader) == trainer.max_steps * trainer.accumulate_grad_batches
    assert [batch.step for batch in served] == [step for step in range(trainer.max_steps) for _ in range(2)]


def test_the_state_is_the_step_and_another_step_is_refused(batches: TranslationDataModule, trainer: Trainer) -> None:
    loader = batches.train_dataloader()
    loader.load_state_dict(loader.state_dict())
    with pytest.raises(AssertionError, match="the trainer is at 0"):
        loader.load_state_dict({"step": trainer.global_step + 1})


def test_targets_are_read_behind_the_start_of_the_model(prepared: PreparedData, trainer: Trainer) -> None:
    starts = build_batches(validated("scale=nano"), prepared, target_start="eos")
    starts.trainer = trainer
    for batch in (*starts.train_dataloader(), *starts.val_dataloader()):
        target = batch.target_input
        assert {*target.ids[target.layout.offsets[:-2]].tolist()} == {prepared.tokenizer.eos_id}


def test_validation_serves_the_development_set(batches: TranslationDataModule, prepared: PreparedData) -> None:
    sentences = [index for batch in batches.val_dataloader() for index in batch.indices.tolist()]
    assert sorted(sentences) == list(range(len(prepared.split("dev"))))
