"""The objects of a training and of a search."""

import os
from functools import partial
from typing import Any

import torch

from aiayn.builders.corpus import bleu_tokenizer_of, validation_sentences
from aiayn.builders.models import device_of
from aiayn.builders.notes import printed_difference
from aiayn.builders.sizes import accumulation
from aiayn.config.difference import LONGEST_GROUP, LONGEST_NAME, cut, job_type, row_of, tag_of
from aiayn.config.freeze import plain
from aiayn.config.schema import TrainConfig
from aiayn.config.third_parties import trial_reason
from aiayn.data.batches.batching import EvaluationStream, TrainingStream
from aiayn.data.preparation.prepared import PreparedData
from aiayn.data.vocabulary import start_id
from aiayn.models.kernels.matmul import ROWS_MULTIPLE
from aiayn.models.translation_model import TranslationModel
from aiayn.runs.directory import RunDirectory
from aiayn.runs.provenance import checkout
from aiayn.tracking.tracker import RunDescription
from aiayn.training.data_module import TranslationDataModule
from aiayn.training.module import TranslationModule
from aiayn.training.process_group import ALONE, ProcessGroup
from aiayn.training.session import TrainingSession
from aiayn.training.validation_sample import ValidationSample

VARIATION, TRIAL = "variation", "trial"
"""Tags of runs that are in no run set of a row in W&B."""


def build_module(
    config: TrainConfig, model: TranslationModel[Any], *, data_fingerprint: str, sample: ValidationSample | None = None
) -> TranslationModule:
    """The model with its training recipe; every validation translates `sample`."""
    return TranslationModule(
        model=model,
        recipe=config.optimization,
        seed=config.seed,
        log_interval=max(1, int(config.trainer["log_every_n_steps"])),
        is_compiled=config.launch.compile,
        provenance={"config_hash": config.identity.hash, "data_fingerprint": data_fingerprint},
        sample=sample,
    )


def build_sample(config: TrainConfig, data: PreparedData, *, group: ProcessGroup = ALONE) -> ValidationSample | None:
    """The sentences that every validation translates, shared by the ranks; None if there are none."""
    sentences = validation_sentences(config)
    if not sentences:
        return None
    tokenizer = bleu_tokenizer_of(config)
    return ValidationSample(data, config.decoding, sentences=sentences, bleu_tokenizer=tokenizer, group=group)


def describe(
    config: TrainConfig, *, run_id: str, commit: str | None = None, dirty: bool | None = None
) -> RunDescription:
    """The description of the run for trackers, with the commit of its code and whether the checkout has changes."""
    identity = config.identity
    table, row = identity.experiment.partition("/")[0], row_of(identity.experiment)
    marks = {VARIATION: identity.difference, TRIAL: trial_reason(config.trainer)}
    words = (identity.fidelity, table, row, identity.scale, config.data.name, *(mark for mark in marks if marks[mark]))
    return RunDescription(
        run_id=run_id,
        name=cut(identity.title, LONGEST_NAME),
        is_swept=identity.sweep is not None or "WANDB_SWEEP_ID" in os.environ,
        group=cut(identity.sweep or table, LONGEST_GROUP),
        job_type=job_type(row, identity.difference),
        tags=tuple(dict.fromkeys(filter(None, map(tag_of, words)))),
        notes=printed_difference(config),
        config={**plain(config), "code": {"commit": commit, "dirty": dirty}},
        checkout=checkout(),
    )


def build_session(
    config: TrainConfig,
    directory: RunDirectory,
    *,
    group: ProcessGroup = ALONE,
    by_srun: bool = False,
    is_patient: bool = False,
) -> TrainingSession:
    """The trainer of one attempt; `by_srun` and `is_patient` as for `TrainingSession`."""
    precision = config.trainer["precision"]
    if precision == "auto":
        has_bf16 = device_of(config).type == "cuda" and torch.cuda.is_bf16_supported(including_emulation=False)
        precision = "bf16-mixed" if has_bf16 else "32-true"
    return TrainingSession(
        config,
        directory,
        accumulation=accumulation(config, world_size=group.size),
        precision=precision,
        group=group,
        by_srun=by_srun,
        is_patient=is_patient,
    )


def build_batches(config: TrainConfig, data: PreparedData, *, target_start: str) -> TranslationDataModule:
    """The run's batches; `target_start` is the decoder's first input."""
    first = start_id(data.tokenizer, target_start)
    return TranslationDataModule(
        training=partial(
            TrainingStream,
            data.split("train"),
            source_tokens=config.optimization.source_tokens,
            target_tokens=config.optimization.target_tokens,
            seed=config.seed,
            start_id=first,
            multiple=ROWS_MULTIPLE,
        ),
        validation=partial(EvaluationStream, data.split("dev"), tokens=config.decoding.batch_tokens, start_id=first),
    )
