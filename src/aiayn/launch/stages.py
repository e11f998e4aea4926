"""The stages of a run on one rank: compare the ranks, prepare, train, evaluate; the record is kept up to date."""

import logging
import os
import signal
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch

from aiayn.builders import training as build
from aiayn.builders.corpus import bleu_tokenizer_of, check_lengths_fit_positions, scored_sentences
from aiayn.builders.cost import model_cost
from aiayn.builders.models import build_model, device_of
from aiayn.builders.preparation import prepare_data
from aiayn.config.freeze import plain
from aiayn.config.identity import flatten
from aiayn.config.schema import TokenizerKind, TrainConfig
from aiayn.costs.accounting import CostMeter, cost_meter
from aiayn.data.corpora.corpus import SPLITS
from aiayn.data.preparation.prepared import PreparedData
from aiayn.errors import RunFailedError, UserError
from aiayn.inference.averaging import average_at_the_end
from aiayn.inference.scoring import Scorer
from aiayn.inference.weights import load_weights
from aiayn.launch.starting_point import check_vocabulary, misses_validation, newest_whole_checkpoint, start_weights
from aiayn.models.cost import ModelCost
from aiayn.models.translation_model import TranslationModel, count_parameters
from aiayn.runs import hardware, provenance
from aiayn.runs.directory import RunDirectory
from aiayn.runs.record import Record, SplitScores, utc_now
from aiayn.system import files, processes
from aiayn.system.resource_errors import memory_errors_explained
from aiayn.system.signals import ignore_signals, name_of
from aiayn.tracking.final_results import log_final_results
from aiayn.tracking.loggers import check_tracker, tracked, trackers
from aiayn.training.module import TranslationModule
from aiayn.training.process_group import ProcessGroup
from aiayn.training.session import TrainingSession

logger = logging.getLogger("aiayn")

PER_HOST_GROUPS = ("paths", "logger", "identity", "force")
"""Configuration groups that may differ between hosts."""


class InterruptedRunError(RunFailedError):
    """A run that was stopped by a signal; rerun the command to resume."""

    def __init__(self, message: str, *, number: signal.Signals) -> None:
        super().__init__(message)
        self.signal = number


class DifferingRanksError(UserError):
    """Ranks that would not do the same run; raised on all of them."""


@dataclass(frozen=True)
class Job:
    """The inputs of every stage."""

    config: TrainConfig
    directory: RunDirectory
    record: Record
    group: ProcessGroup
    is_adopted: bool
    """Whether `wandb agent` gave the run a new id, under which W&B has no earlier attempt."""

    def write_record(self) -> None:
        """Write the record, on the first rank."""
        if self.group.is_leader:
            files.require_folder(self.directory.path)
            self.record.write(self.directory.record)


def run_stages(job: Job) -> None:
    """Do the rest of a run, one stage after another."""
    record, config, is_leader = job.record, job.config, job.group.is_leader
    shared = {group: value for group, value in plain(config).items() if group not in PER_HOST_GROUPS}
    _check_same(job.group, flatten(shared), "start the same command everywhere")
    _check_same(job.group, provenance.code(), "install the same everywhere")
    # All quick checks come before anything that takes time.
    is_patient = "SLURM_JOB_ID" in os.environ
    session = build.build_session(
        config, job.directory, group=job.group, by_srun=processes.by_srun(), is_patient=is_patient
    )
    check_tracker(config.logger)
    bleu_tokenizer_of(config)
    start = start_weights(config)
    job.write_record()
    data = prepare_data(config, trained_on=record.data_fingerprint)
    _check_same(job.group, {"the prepared data": data.fingerprint}, "let all hosts read the same files")
    if record.data_fingerprint not in (None, data.fingerprint):
        raise UserError(
            f"{job.directory.path}: begun on data {record.data_fingerprint}, but the corpus now gives "
            f"{data.fingerprint}: restore the corpus, or start anew with force=true"
        )
    record.data_fingerprint = data.fingerprint
    record.data_counts = {split: dict(data.manifest["splits"][split]) for split in SPLITS}
    if is_leader:
        _log_preparation(job, data)
    check_lengths_fit_positions(config, data)
    last = job.group.broadcast(newest_whole_checkpoint(job.directory, record) if is_leader else None)
    model = _build_model(config, data, start=None if last else start)
    record.hardware = {**hardware.hardware(), "processes": job.group.size}
    record.precision = session.precision
    device = device_of(config, local_rank=processes.local_rank())
    if device.type == "cuda":
        torch.cuda.set_device(device)  # from here on this process takes memory there
    record.tf32 = provenance.uses_tf32(device)
    if is_leader:
        data.tokenizer.save(job.directory.tokenizer)
    job.write_record()
    with (
        _trackers(job, start_step=last[0] if last else 0) if is_leader else nullcontext([]) as loggers,
        _signals_ignored_after_error(job.group),
        _metered(job) as meter,
    ):
        module = _train(job, data, model, session, loggers, meter, last=last)
        _evaluate(job, data, module, loggers, meter)


def _check_same(group: ProcessGroup, own: Mapping[str, Any], remedy: str) -> None:
    """Check that all ranks have the same values; DifferingRanksError on all of them names the first difference."""
    first, *others = group.gather(dict(own))
    for rank, theirs in enumerate(others, start=1):
        for name in {**first, **theirs}:
            if first.get(name) != theirs.get(name):
                values = f"rank {rank} has {theirs.get(name)}, rank 0 has {first.get(name)}"
                raise DifferingRanksError(f"the ranks differ in {name}: {values}; {remedy}")


@contextmanager
def _signals_ignored_after_error(group: ProcessGroup) -> Iterator[None]:
    """Ignore signals once a rank of several fails: its starter will ask it to end, and it must write its failure."""
    try:
        yield
    except BaseException:
        if group.size > 1:
            ignore_signals()
        raise


def _log_preparation(job: Job, data: PreparedData) -> None:
    """Log the corpus in one line, and warn if it is too small for the vocabulary."""
    asked, entries = job.config.tokenizer.vocabulary_size, data.tokenizer.vocabulary_size
    logger.info("%s: %s; vocabulary %s", job.record.data, job.record.data_summary(), f"{entries:,}")
    if entries < asked and job.config.tokenizer.kind is not TokenizerKind.given:  # all given pieces are taken
        logger.warning(
            "tokenizer.vocabulary_size=%s: the training text yields only %s entries, fewer than requested",
            asked,
            entries,
        )


def _build_model(config: TrainConfig, data: PreparedData, *, start: Path | None) -> TranslationModel[Any]:
    """The model with random weights, or with those of a checkpoint."""
    with memory_errors_explained("the sizes below model, or tokenizer.vocabulary_size"):
        model = build_model(config, vocabulary_size=data.tokenizer.vocabulary_size)
    if start is not None:
        check_vocabulary(start, data.tokenizer)
        load_weights(model, start, key="init_from", provenance=None)
    return model


def _train(
    job: Job,
    data: PreparedData,
    model: TranslationModel[Any],
    session: TrainingSession,
    loggers: list[Any],
    meter: CostMeter | None,
    *,
    last: tuple[int, Path] | None,
) -> TranslationModule:
    """Train to the end, from the checkpoint `last` if there is one."""
    config, record = job.config, job.record
    step, resume_from = last or (0, None)
    interval = config.optimization.validation_interval
    validate_first = job.group.broadcast(misses_validation(job.directory, step, interval=interval))
    sample = build.build_sample(config, data, group=job.group)
    module = build.build_module(config, model, data_fingerprint=data.fingerprint, sample=sample)
    record.parameters = count_parameters(model)
    record.vocabulary_rows = len(model.output_weight)
    job.write_record()
    cost = model_cost(config.model, vocabulary_size=record.vocabulary_rows)
    if meter is not None:
        meter.follow(module.spent, cost)
    try:
        with memory_errors_explained("optimization.max_tokens_per_device, data.max_length or decoding.batch_tokens"):
            batches = build.build_batches(config, data, target_start=module.model.target_start)
            session.fit(module, batches, loggers=loggers, resume_from=resume_from, validate_first=validate_first)
    finally:
        _count(record, module, cost, steps=session.step)
    if session.stopped_by is not None:
        raise InterruptedRunError(
            f"stopped by {name_of(session.stopped_by)} after step {session.step} of {config.optimization.max_steps}; "
            "rerun the command to resume",
            number=session.stopped_by,
        )
    if session.ended_early_by is not None:
        record.message = f"ended by {session.ended_early_by} after {record.steps_done()} steps"
        if job.group.is_leader:
            logger.warning("training %s", record.message)
    return module


def _count(record: Record, module: TranslationModule, cost: ModelCost, *, steps: int) -> None:
    progress = module.progress
    record.steps = steps
    record.tokens = progress.source_tokens + progress.target_tokens
    record.seconds = progress.seconds
    record.tokens_per_second = record.tokens / progress.seconds if progress.seconds else None
    record.flops = cost.training_flops(source_tokens=progress.source_tokens, target_tokens=progress.target_tokens)


def _evaluate(
    job: Job, data: PreparedData, module: TranslationModule, loggers: list[Any], meter: CostMeter | None
) -> None:
    """Score the final weights on dev and test, on all ranks, then their average if configured; log the results."""
    record = job.record
    record.cost = record.cost if meter is None else meter.account()
    job.write_record()
    with nullcontext() if meter is None else meter.evaluating():
        record.scores = _scores(job, data, module)
        made = average_at_the_end(job.config, job.directory, record, step=record.steps) if job.group.is_leader else None
        average = job.group.broadcast(made)
        if average is not None:
            load_weights(module.model, average.path, key="averaging", provenance=record.provenance)
            logger.info(
                "%s: average of the checkpoints at steps %s", average.path.name, ", ".join(map(str, average.steps))
            )
            record.scores = _scores(job, data, module, averaged_steps=average.steps)
    record.cost = record.cost if meter is None else meter.account()
    table_rows = int(job.config.logger.get("samples", 0))
    further = partial(_beside_base, job)
    log_final_results(trackers(loggers), record, job.directory, data, table_rows=table_rows, further=further)


def _beside_base(job: Job) -> Mapping[str, float | int | str]:
    """The run's difference to base; empty where it cannot be computed: the run's own results do not depend on it."""
    # Half a second, of runs with a tracker alone; among the fork server's libraries, it would be each sweep's.
    from aiayn.reports.beside_base import at_the_end

    try:
        return at_the_end(job.directory, job.record, Path(job.config.paths.runs))
    except (UserError, OSError) as error:
        logger.warning("not compared with base: %s", error)
        return {}


def _scores(
    job: Job, data: PreparedData, module: TranslationModule, *, averaged_steps: tuple[int, ...] = ()
) -> dict[str, SplitScores]:
    """The scores of the module's weights with the run's search; empty on ranks other than the first."""
    return Scorer(
        module.model,
        data,
        job.config.decoding,
        job.directory,
        device=device_of(job.config, local_rank=processes.local_rank()),
        bleu_tokenizer=bleu_tokenizer_of(job.config),
        step=averaged_steps[-1] if averaged_steps else job.record.steps,
        averaged_steps=averaged_steps,
        limit=scored_sentences(job.config),
        group=job.group,
    ).score(["dev", "test"])


@contextmanager
def _metered(job: Job) -> Iterator[CostMeter | None]:
    """Count the costs of this attempt, however it ends; None on ranks other than the first."""
    record = job.record
    meter = cost_meter(
        job.directory.cost,
        job.config.cost,
        earlier=record.cost.attempts if record.cost else (),
        started=utc_now(),
        device=device_of(job.config, local_rank=processes.local_rank()),
        precision=record.precision or "",
        group=job.group,
    )
    if meter is None:
        yield None
        return
    try:
        with meter.counting():
            yield meter
    finally:
        record.cost = meter.account()


def _trackers(job: Job, *, start_step: int) -> AbstractContextManager[list[Any]]:
    """The loggers of the run."""
    record = job.record
    return tracked(
        job.config.logger,
        partial(build.describe, job.config, run_id=record.run_id, commit=record.commit, dirty=record.dirty),
        metrics=job.directory.metrics,
        start_step=start_step,
        is_new=job.is_adopted,
    )
