"""One process of a run: prepare, train, evaluate, record.

Started on a frozen run directory: `python -m aiayn.launch.worker <run directory> <command typed>`.
"""

import datetime
import logging
import os
import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aiayn.build import training as build
from aiayn.build.corpus import refuse_beyond_positions, scored_sentences
from aiayn.config.errors import RunFailedError, UserError
from aiayn.config.freeze import thaw
from aiayn.config.schema import TrainConfig
from aiayn.data.corpus import SPLITS
from aiayn.data.prepared import PreparedData
from aiayn.launch import processes
from aiayn.launch.allocator import keep_memory
from aiayn.launch.disk import refusals_explained
from aiayn.launch.memory import shortage_explained
from aiayn.launch.opened_run import load_weights
from aiayn.launch.orphans import end_with_parent
from aiayn.launch.preparation import prepare_data
from aiayn.launch.quiet import quiet_libraries
from aiayn.launch.scoring import score_splits
from aiayn.launch.signals import ended_as_interrupted
from aiayn.models.transformer import count_parameters
from aiayn.runs import provenance
from aiayn.runs.directory import RunDirectory, open_run
from aiayn.runs.record import SCHEMA_VERSION, Record, Status, read_record
from aiayn.training.module import TranslationModule
from aiayn.training.session import TrainingSession
from aiayn.training.tracking import check_tracker, summarize, tracked

logger = logging.getLogger("aiayn")


class InterruptedRunError(RunFailedError):
    """A run that was asked to stop; the same command takes it up again."""


def run(config: TrainConfig, directory: RunDirectory, *, command: str) -> Record:
    """Do the run, or what is left of it; its record tells the state at every moment.

    Args:
        config: the frozen configuration.
        directory: the run's folder, held by the caller.
        command: what the user typed.

    Raises:
        UserError: the configuration, the data or the disk cannot be used.
        RunFailedError: training stopped before its end.
    """
    quiet_libraries()
    if config.launch.keep_allocator_memory:
        keep_memory()
    leader = processes.rank() == 0
    record = _open_record(config, directory, command)
    disk = f"paths.runs={config.paths.runs}"
    with refusals_explained(disk), _logging_to(directory.log if leader else None), ended_as_interrupted():
        try:
            with refusals_explained(disk):  # inside too, since the record takes the reason
                _run(_Job(config, directory, record, leader))
            record.status = Status.finished
        except BaseException as error:
            record.status = Status.interrupted if _is_interruption(error) else Status.failed
            record.message = _reason(error)
            if not isinstance(error, UserError | RunFailedError | KeyboardInterrupt):
                logger.exception("the run failed")
            raise
        finally:
            record.ended = _now()
            if leader:
                record.write(directory.record)
    return record


@dataclass(frozen=True)
class _Job:
    """What every stage of a run needs."""

    config: TrainConfig
    directory: RunDirectory
    record: Record
    leader: bool

    def write_record(self) -> None:
        if self.leader:
            self.record.write(self.directory.record)


def _run(job: _Job) -> None:
    """The stages of a run, one after another; the record follows them."""
    record = job.record
    # Everything that can be refused at once comes before anything that takes time.
    session = build.build_session(job.config, job.directory, world_size=processes.world_size(job.config.trainer))
    check_tracker(job.config.logger)
    start = _start_weights(job.config)
    job.write_record()
    data = prepare_data(job.config)
    if record.data_fingerprint not in (None, data.fingerprint):
        raise UserError(
            f"{job.directory.path}: begun on data {record.data_fingerprint}, but the corpus now gives "
            f"{data.fingerprint}: restore the corpus, or start anew with force=true"
        )
    record.data_fingerprint = data.fingerprint
    record.data_counts = {split: dict(data.manifest["splits"][split]) for split in SPLITS}
    if job.leader:
        _say_what_was_prepared(job, data)
    refuse_beyond_positions(job.config, data)
    record.hardware = provenance.hardware()
    record.precision = session.precision
    if job.leader:
        data.tokenizer.save(job.directory.tokenizer)
    job.write_record()
    last = max(job.directory.steps().items(), default=None)
    with _trackers(job, start_step=last[0] if last else 0) as loggers:
        module = _train(job, data, session, loggers, start=start, resume_from=last[1] if last else None)
        if job.leader:
            _evaluate(job, data, module, loggers)


def _say_what_was_prepared(job: _Job, data: PreparedData) -> None:
    """One line on the corpus, and a warning where it is too small for the vocabulary."""
    asked, there = job.config.tokenizer.vocabulary_size, data.tokenizer.vocabulary_size
    logger.info("%s: %s; vocabulary %s", job.record.data, job.record.data_summary(), f"{there:,}")
    if there < asked:
        logger.warning(
            "tokenizer.vocabulary_size=%s: the training text yields only %s entries, and the model gets as many rows",
            asked,
            there,
        )


def _train(
    job: _Job,
    data: PreparedData,
    session: TrainingSession,
    loggers: list[Any],
    *,
    start: Path | None,
    resume_from: Path | None,
) -> TranslationModule:
    """Train to the end: from the checkpoint of an earlier go, or from another run's weights, where there are such."""
    config, record = job.config, job.record
    model = build.build_model(config, vocabulary_size=data.tokenizer.vocabulary_size)
    if resume_from is None and start is not None:
        load_weights(model, start, key="init_from")
    module = build.build_module(config, model, data_fingerprint=data.fingerprint)
    record.parameters = count_parameters(model)
    record.vocabulary_rows = len(model.embedding.weight)
    job.write_record()
    try:
        with shortage_explained("optimization.max_tokens_per_device, or data.max_length"):
            session.fit(module, build.build_batches(config, data), loggers=loggers, resume_from=resume_from)
    finally:
        _count(record, module, steps=session.step)
    if session.stopped_by is not None:
        raise InterruptedRunError(
            f"stopped by {session.stopped_by} after step {session.step} of {config.optimization.max_steps}; "
            "the same command takes it up again"
        )
    if session.ended_early_by is not None:
        record.message = f"ended by {session.ended_early_by} after {record.steps_done()} steps"
        if job.leader:
            logger.warning("training %s", record.message)
    return module


def _start_weights(config: TrainConfig) -> Path | None:
    """The checkpoint that a new run starts from, or None.

    Raises:
        UserError: there is none where `init_from` says.
    """
    if config.init_from is None:
        return None
    path = Path(config.init_from)
    if path.is_dir():
        return open_run(config.init_from, key="init_from").checkpoint("last")[1]
    if not path.is_file():
        raise UserError(f"init_from={config.init_from}: no such run directory or checkpoint")
    return path


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


def _evaluate(job: _Job, data: PreparedData, module: TranslationModule, loggers: list[Any]) -> None:
    """Score the final weights on dev and test, and tell the trackers."""
    record = job.record
    job.write_record()
    record.scores = score_splits(
        module.model,
        data,
        build.build_search(job.config.decoding),
        job.directory,
        splits=["dev", "test"],
        checkpoint_step=record.steps,
        device=build.scoring_device(job.config),
        limit=scored_sentences(job.config),
    )
    summary: dict[str, float | int | None] = {"parameters": record.parameters}
    for split, result in record.scores.items():
        scores = {result.bleu_name: result.bleu.score, "ppl": result.ppl, "chrf": result.chrf.score}
        summary |= {f"{split}/{name.lower()}": score for name, score in scores.items()}
    summarize(loggers, summary)


@contextmanager
def _trackers(job: _Job, *, start_step: int) -> Iterator[list[Any]]:
    """The trackers of the leader; the other ranks have none."""
    if not job.leader:
        yield []
        return
    description = build.describe(job.config, run_id=job.record.run_id)
    with tracked(job.config.logger, description, metrics=job.directory.metrics, start_step=start_step) as loggers:
        yield loggers


def _open_record(config: TrainConfig, directory: RunDirectory, command: str) -> Record:
    """The record of an earlier go, taken up again, or a new one."""
    if directory.record.is_file():
        record = read_record(directory.record)
        if record.config_hash != config.identity.hash:
            raise UserError(f"{directory.path}: holds run {record.config_hash}, not {config.identity.hash}")
    else:
        record = Record(
            schema_version=SCHEMA_VERSION,
            run_id=secrets.token_hex(4),
            name=config.identity.name,
            experiment=config.identity.experiment,
            scale=config.identity.scale,
            fidelity=config.identity.fidelity,
            seed=config.seed,
            command=command,
            config_hash=config.identity.hash,
            data=config.data.name,
            status=Status.running,
            started=_now(),
        )
    record.run_id = _agent_run_id(config) or record.run_id
    record.status, record.message = Status.running, None
    record.max_steps = config.optimization.max_steps
    record.versions = provenance.versions()
    record.commit, record.dirty = provenance.code_version()
    return record


def _agent_run_id(config: TrainConfig) -> str | None:
    """The id that `wandb agent` has given to this go, or None; below an agent W&B takes no other."""
    if "WANDB_SWEEP_ID" in os.environ and "_target_" in config.logger:
        return os.environ.get("WANDB_RUN_ID")
    return None


@contextmanager
def _logging_to(path: Path | None) -> Iterator[None]:
    """Write what is logged to the run's own file as well."""
    if path is None:
        yield
        return
    handler = logging.FileHandler(path, encoding="utf-8")
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    root = logging.getLogger()
    root.addHandler(handler)
    try:
        yield
    finally:
        root.removeHandler(handler)
        handler.close()


def _is_interruption(error: BaseException) -> bool:
    return isinstance(error, InterruptedRunError | KeyboardInterrupt | SystemExit)


def _reason(error: BaseException) -> str:
    if isinstance(error, KeyboardInterrupt | SystemExit):
        return "interrupted; the same command takes it up again"
    text = str(error).strip().splitlines()
    return text[0] if isinstance(error, UserError | RunFailedError) and text else f"{type(error).__name__}: {error}"


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


def main() -> int:
    """Entry point of a fresh process; the parent reports the record's message."""
    path, command = sys.argv[1:]
    end_with_parent()
    directory = RunDirectory(Path(path))
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    try:
        run(thaw(directory.config), directory, command=command)
    except UserError:
        return 2
    except (RunFailedError, KeyboardInterrupt):
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
