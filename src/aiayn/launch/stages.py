"""The stages of a run on one rank: agree with the others, prepare, train, evaluate; the record follows them."""

import datetime
import logging
import os
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from aiayn.builders import training as build
from aiayn.builders.corpus import refuse_beyond_positions, scored_sentences
from aiayn.builders.preparation import prepare_data
from aiayn.config.freeze import plain
from aiayn.config.identity import flatten
from aiayn.config.schema import TrainConfig
from aiayn.costs.accounting import CostMeter, cost_meter
from aiayn.data.corpora.corpus import SPLITS
from aiayn.data.preparation.prepared import PreparedData
from aiayn.errors import RunFailedError, UserError
from aiayn.inference.averaging import average_at_the_end
from aiayn.inference.opened_run import load_weights
from aiayn.inference.scoring import score_splits
from aiayn.launch.resuming import misses_validation, newest_whole_checkpoint
from aiayn.launch.start_weights import refuse_another_vocabulary, start_weights
from aiayn.models.transformer import count_parameters
from aiayn.models.translation_model import TranslationModel
from aiayn.runs import provenance
from aiayn.runs.directory import RunDirectory
from aiayn.runs.record import Record, SplitScores
from aiayn.system import processes
from aiayn.system.memory import shortage_explained
from aiayn.system.signals import hear_nothing_more
from aiayn.tracking.final_results import tell
from aiayn.tracking.loggers import check_tracker, tracked, trackers
from aiayn.training.module import TranslationModule
from aiayn.training.process_group import ProcessGroup
from aiayn.training.session import TrainingSession

logger = logging.getLogger("aiayn")

HOSTS_OWN = ("paths", "logger", "identity", "force")
"""What ranks on different hosts may state differently."""


class InterruptedRunError(RunFailedError):
    """A run that was asked to stop; the same command takes it up again."""

    def __init__(self, message: str, *, number: signal.Signals) -> None:
        super().__init__(message)
        self.signal = number
        """What asked it to."""


class DifferingRanksError(UserError):
    """Ranks that would not do the same run; each of them knows."""


@dataclass(frozen=True)
class Job:
    """What every stage of a run needs."""

    config: TrainConfig
    directory: RunDirectory
    record: Record
    group: ProcessGroup
    is_adopted: bool = False
    """Whether an agent has given the run another id, under which nobody knows of its earlier attempts."""

    def write_record(self) -> None:
        """Write the record, if this rank is the one that does."""
        if self.group.is_leader:
            self.record.write(self.directory.record)


def run_stages(job: Job) -> None:
    """Do what is left of a run, one stage after another.

    Raises:
        UserError: the configuration, the data or the disk cannot be used.
        RunFailedError: training stopped before its end.
    """
    record, config, is_leader = job.record, job.config, job.group.is_leader
    _refuse_differences(job.group, _configuration(config), "start the same command everywhere")
    _refuse_differences(job.group, provenance.code(), "install the same everywhere")
    # Everything that can be refused at once comes before anything that takes time.
    session = build.build_session(
        config,
        job.directory,
        group=job.group,
        by_srun=processes.by_srun(),
        is_patient="SLURM_JOB_ID" in os.environ,
    )
    check_tracker(config.logger)
    start = start_weights(config)
    job.write_record()
    data = prepare_data(config)
    _refuse_differences(job.group, {"the prepared data": data.fingerprint}, "let all hosts read the same files")
    if record.data_fingerprint not in (None, data.fingerprint):
        raise UserError(
            f"{job.directory.path}: begun on data {record.data_fingerprint}, but the corpus now gives "
            f"{data.fingerprint}: restore the corpus, or start anew with force=true"
        )
    record.data_fingerprint = data.fingerprint
    record.data_counts = {split: dict(data.manifest["splits"][split]) for split in SPLITS}
    if is_leader:
        _say_what_was_prepared(job, data)
    refuse_beyond_positions(config, data)
    last = job.group.broadcast(newest_whole_checkpoint(job.directory, record) if is_leader else None)
    model = _build_model(config, data, start=None if last else start)
    record.hardware = {**provenance.hardware(), "processes": job.group.size}
    record.precision = session.precision
    if is_leader:
        data.tokenizer.save(job.directory.tokenizer)
    job.write_record()
    with (
        _trackers(job, start_step=last[0] if last else 0) as loggers,
        _ended_in_peace(job.group),
        _metered(job) as meter,
    ):
        module = _train(job, data, model, session, loggers, meter, last=last)
        _evaluate(job, data, module, loggers, meter)


def _configuration(config: TrainConfig) -> dict[str, Any]:
    """All keys that ranks have to state alike, and their values."""
    content = {group: value for group, value in plain(config).items() if group not in HOSTS_OWN}
    return flatten(content)


def _refuse_differences(group: ProcessGroup, own: Mapping[str, Any], remedy: str) -> None:
    """Refuse, on all ranks alike, a group whose ranks would not do the same run.

    Raises:
        DifferingRanksError: naming the first thing that differs, and both values.
    """
    first, *others = group.gather(dict(own))
    for rank, theirs in enumerate(others, start=1):
        for name in {**first, **theirs}:
            if first.get(name) != theirs.get(name):
                own_values = f"rank {rank} has {theirs.get(name)}, rank 0 has {first.get(name)}"
                raise DifferingRanksError(f"the ranks differ in {name}: {own_values}; {remedy}")


@contextmanager
def _ended_in_peace(group: ProcessGroup) -> Iterator[None]:
    """Where one rank of several has ended, let the others come to their end: who started them asks them to, as well."""
    try:
        yield
    except BaseException:
        if group.size > 1:
            hear_nothing_more()
        raise


def _say_what_was_prepared(job: Job, data: PreparedData) -> None:
    """One line on the corpus, and a warning where it is too small for the vocabulary."""
    asked, there = job.config.tokenizer.vocabulary_size, data.tokenizer.vocabulary_size
    logger.info("%s: %s; vocabulary %s", job.record.data, job.record.data_summary(), f"{there:,}")
    if there < asked:
        logger.warning(
            "tokenizer.vocabulary_size=%s: the training text yields only %s entries, and the model gets as many rows",
            asked,
            there,
        )


def _build_model(config: TrainConfig, data: PreparedData, *, start: Path | None) -> TranslationModel[Any]:
    """The model, with random weights or with those of another run.

    Raises:
        UserError: the vocabulary does not fit it, or the weights.
    """
    vocabulary = data.tokenizer
    with shortage_explained("the sizes below model, or tokenizer.vocabulary_size"):
        model = build.build_model(config, vocabulary_size=vocabulary.vocabulary_size)
    if start is not None:
        refuse_another_vocabulary(start, vocabulary)
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
    """Train to the end, from the last checkpoint of an earlier attempt if there is one."""
    config, record = job.config, job.record
    step, resume_from = last or (0, None)
    interval = config.optimization.validation_interval
    validate_first = job.group.broadcast(misses_validation(job.directory, step, interval=interval))
    sample = build.build_sample(config, data, group=job.group)
    module = build.build_module(config, model, data_fingerprint=data.fingerprint, sample=sample)
    record.parameters = count_parameters(model)
    record.vocabulary_rows = len(model.output_weight)
    job.write_record()
    if meter is not None:
        meter.follow(module.spent, model.cost)
    try:
        with shortage_explained("optimization.max_tokens_per_device, data.max_length or decoding.batch_tokens"):
            session.fit(
                module,
                build.build_batches(config, data),
                loggers=loggers,
                resume_from=resume_from,
                validate_first=validate_first,
            )
    finally:
        _count(record, module, steps=session.step)
    if session.stopped_by is not None:
        raise InterruptedRunError(
            f"stopped by {session.stopped_by.name} after step {session.step} of {config.optimization.max_steps}; "
            "the same command takes it up again",
            number=session.stopped_by,
        )
    if session.ended_early_by is not None:
        record.message = f"ended by {session.ended_early_by} after {record.steps_done()} steps"
        if job.group.is_leader:
            logger.warning("training %s", record.message)
    return module


def _count(record: Record, module: TranslationModule, *, steps: int) -> None:
    """Bring the record's counters up to date."""
    progress = module.progress
    record.steps = steps
    record.tokens = progress.source_tokens + progress.target_tokens
    record.seconds = progress.seconds
    record.tokens_per_second = record.tokens / progress.seconds if progress.seconds else None
    record.flops = module.model.cost.training_flops(
        source_tokens=progress.source_tokens, target_tokens=progress.target_tokens
    )


def _evaluate(
    job: Job, data: PreparedData, module: TranslationModule, loggers: list[Any], meter: CostMeter | None
) -> None:
    """Score the final weights on dev and test, on all ranks, then the average if there is one; tell the trackers."""
    record = job.record
    record.cost = record.cost if meter is None else meter.account()
    job.write_record()
    with nullcontext() if meter is None else meter.evaluating():
        record.scores = _scores(job, data, module)
        made = average_at_the_end(job.config, job.directory, record, step=record.steps) if job.group.is_leader else None
        average = job.group.broadcast(made)
        if average is not None:
            load_weights(module.model, average.path, key="averaging", provenance=record.provenance)
            logger.info("%s: the mean of steps %s", average.path.name, ", ".join(map(str, average.steps)))
            record.scores = _scores(job, data, module, averaged_steps=average.steps)
    record.cost = record.cost if meter is None else meter.account()
    table_rows = int(job.config.logger.get("samples", 0))
    tell(trackers(loggers), record, job.directory, data, table_rows=table_rows)


def _scores(
    job: Job, data: PreparedData, module: TranslationModule, *, averaged_steps: tuple[int, ...] = ()
) -> dict[str, SplitScores]:
    """The scores of the module's weights by the run's own search; only the first rank has them."""
    return score_splits(
        module.model,
        data,
        build.build_search(job.config.decoding),
        job.directory,
        splits=["dev", "test"],
        checkpoint_step=averaged_steps[-1] if averaged_steps else job.record.steps,
        averaged_steps=averaged_steps,
        device=build.device_of(job.config, local_rank=processes.local_rank()),
        limit=scored_sentences(job.config),
        group=job.group,
    )


@contextmanager
def _metered(job: Job) -> Iterator[CostMeter | None]:
    """Count the costs of this attempt, however it ends; ranks other than the first have no meter."""
    record = job.record
    meter = cost_meter(
        job.directory.cost,
        job.config.cost,
        earlier=record.cost.attempts if record.cost else (),
        started=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        device=build.device_of(job.config, local_rank=processes.local_rank()),
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


@contextmanager
def _trackers(job: Job, *, start_step: int) -> Iterator[list[Any]]:
    """The trackers of the leader; the other ranks have none."""
    if not job.group.is_leader:
        yield []
        return
    record = job.record
    with tracked(
        job.config.logger,
        partial(build.describe, job.config, run_id=record.run_id, commit=record.commit, dirty=record.dirty),
        metrics=job.directory.metrics,
        start_step=start_step,
        is_new=job.is_adopted,
    ) as loggers:
        yield loggers
