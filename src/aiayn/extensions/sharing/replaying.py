"""A recorded run done again in a run directory of its own; nothing of the original changes."""

import dataclasses
import logging
from pathlib import Path

import torch

from aiayn.builders.corpus import bleu_tokenizer_of, build_corpus, scored_sentences
from aiayn.builders.models import build_model, device_of
from aiayn.builders.preparation import prepare_data
from aiayn.config.absolute import make_absolute
from aiayn.config.freeze import frozen_text, load_config, plain
from aiayn.config.identity import configuration_hash
from aiayn.config.schema import PathsConfig, TrainConfig
from aiayn.config.trust import check_plugins, check_targets
from aiayn.config.validation import validate
from aiayn.data.corpora.corpus import Split
from aiayn.errors import RunFailedError, UserError
from aiayn.evaluation.perplexity import perplexity
from aiayn.evaluation.sentences import write_sentence_scores
from aiayn.extensions.sharing.replays import RecordedRun, check_hash, mark_replay
from aiayn.inference.quality import quality_of
from aiayn.inference.scoring import Scorer, parse_splits
from aiayn.inference.weights import load_weights
from aiayn.launch.dispatch import launch_run
from aiayn.runs import hardware, provenance
from aiayn.runs.directory import RunDirectory, average_name
from aiayn.runs.record import SplitScores, Status, utc_now
from aiayn.system import files, machine, processes
from aiayn.system.gpu import configure_gpus

logger = logging.getLogger("aiayn")

SCORED = "-scored"
"""End of the name of a run directory that mode=score fills: a run that was not trained is no end of mode=train."""


def reinstated(
    run: RecordedRun, composed: TrainConfig | None, *, output: str, paths: PathsConfig, trust: bool
) -> TrainConfig:
    """The configuration of a recorded run, with the folders of this machine and without a tracker.

    Args:
        run: the record.
        composed: the configuration of the recorded command; None: `config.yaml` lies beside the record.
        output: the folder of replays.
        paths: of this command; the cache is used.
        trust: whether the user trusts the plugged-in classes of the record.

    Raises:
        UserError: the hash is not the record's, or this version of the code cannot read the configuration.
    """
    commit = run.record.commit
    remedy = f"; git checkout {commit} has the code that wrote it" if commit else ""
    if composed is None:
        check_hash(run)
        try:
            config = load_config(run.directory.config)
        except UserError as error:
            raise UserError(f"{error}{remedy}") from None
    else:
        config = composed
    found = hash_of(config)
    if found != run.record.config_hash:
        raise UserError(
            f"record={run.directory.record}: states config_hash={run.record.config_hash}, and its "
            f"{'configuration' if composed is None else 'command'} gives {found} here{remedy}"
        )
    config.force, config.logger, config.identity.sweep = False, {}, None
    place = run.directory.record if composed is not None else run.directory.config
    check_targets(plain(config), place)
    check_plugins(config, place, trust=trust)
    config.paths = PathsConfig(runs=output, cache=paths.cache)
    make_absolute(config)
    return config


def hash_of(config: TrainConfig) -> str:
    """The hash of everything in a configuration that can change a result."""
    return configuration_hash(plain(config), fidelity=config.identity.fidelity, sources=config.identity.sources)


def with_seed(config: TrainConfig, seed: int) -> None:
    """Give the configuration another seed, and the names that follow."""
    config.seed = seed
    config.identity.hash = hash_of(config)
    identity = config.identity
    identity.name = f"{identity.experiment}/{identity.scale}-seed{seed}-{identity.hash}"


def replay_directory(run: RecordedRun, config: TrainConfig, *, suffix: str = "") -> RunDirectory:
    """The run directory of a replay, marked as such; UserError if it is the record's own, or another run's."""
    directory = RunDirectory(Path(config.paths.runs) / f"{config.identity.name}{suffix}")
    if directory.path.resolve() == run.directory.path.resolve():
        raise UserError(f"output={config.paths.runs}: holds the record itself; state another folder")
    mark_replay(directory, run)
    return directory


def check_data(run: RecordedRun, config: TrainConfig, *, trains: bool) -> None:
    """Check that the corpus here is the recorded one; it is prepared if the cache does not have it.

    To score, data that an earlier version made are taken from the cache. To train, they are not: this version would
    prepare others.

    Raises:
        RunFailedError: the fingerprints differ.
    """
    recorded = run.record.data_fingerprint
    found = prepare_data(config, trained_on=None if trains else recorded)
    if found.fingerprint == recorded:
        return
    cause = ""
    if found.keeps_marks(build_corpus(config.data, cache=Path(config.paths.cache))):
        cause = (
            "; earlier versions split words with combining marks in another way: if one of them made the record, "
            f"{'mode=score scores' if trains else 'score'} on its cache, named in paths.cache="
        )
        if run.record.commit:
            cause += f", or git checkout {run.record.commit}, which has the code"
    raise RunFailedError(
        f"{run.record.name}: different: the data, fingerprint {recorded} in the record, {found.fingerprint} here{cause}"
    )


def train_replay(run: RecordedRun, config: TrainConfig) -> RecordedRun:
    """Train, evaluate and record again; a replay that was cut goes on."""
    validate(config)
    directory = replay_directory(run, config)
    _set_threads(run, config)
    return RecordedRun(directory, launch_run(config, command=run.record.command, fresh_process=False))


def _set_threads(run: RecordedRun, config: TrainConfig) -> None:
    """Use as many threads as the record, on which sums depend, where one process trains and has the cores."""
    recorded = run.record.hardware.get("threads")
    is_alone = processes.devices_per_node(config.trainer) == 1 and not processes.is_rank()
    if is_alone and isinstance(recorded, int) and recorded != torch.get_num_threads():
        if recorded <= len(machine.cores()):
            torch.set_num_threads(recorded)
        else:
            logger.warning("the record used %d threads, and here are %d cores", recorded, len(machine.cores()))


def rescore(run: RecordedRun, config: TrainConfig) -> RecordedRun:
    """Score the stored checkpoint again, or, without one, the stored hypotheses; beside the replay that trains.

    Raises:
        UserError: neither lies beside the record, or the corpus differs.
    """
    validate(config)
    directory = replay_directory(run, config, suffix=SCORED)
    record = dataclasses.replace(run.record, versions=provenance.versions(), hardware=hardware.hardware())
    record.hardware["processes"] = 1
    record.commit, record.dirty, record.patch, _ = provenance.code_version()
    record.packages = provenance.digest(provenance.package_lock().encode())
    files.write_text(directory.config, frozen_text(config))
    files.write_text(directory.package_lock(record.packages), provenance.package_lock())
    checkpoint = scored_checkpoint(run)
    if checkpoint is not None:
        _set_threads(run, config)
        record.hardware["threads"] = hardware.hardware()["threads"]
        record.scores = _decoded(run, config, directory, checkpoint)
    elif all(run.hypotheses(split) is not None for split in record.scores):
        record.scores = {split: _rescored(run, config, directory, split) for split in parse_splits(list(record.scores))}
    else:
        raise UserError(
            f"mode=score: {run.directory.path} has neither the scored checkpoint nor the hypotheses; mode=train trains "
            "again"
        )
    record.status, record.ended = Status.finished, utc_now()
    record.write(directory.record)
    return RecordedRun(directory, record)


def scored_checkpoint(run: RecordedRun) -> Path | None:
    """The checkpoint whose scores the record states, if it lies beside the record."""
    scores = next(iter(run.record.scores.values()))
    checkpoints = run.directory.checkpoints
    if scores.averaged_steps:
        path = checkpoints / f"{average_name(scores.averaged_steps)}.ckpt"
        return path if files.is_file(path) else None
    return run.directory.steps().get(scores.checkpoint_step)


def _decoded(
    run: RecordedRun, config: TrainConfig, directory: RunDirectory, checkpoint: Path
) -> dict[str, SplitScores]:
    """Decode and score with the weights of the checkpoint, in the directory of the replay."""
    device, record = device_of(config), run.record
    data = prepare_data(config, trained_on=record.data_fingerprint)
    configure_gpus(tf32=bool(record.tf32))
    model = build_model(config, vocabulary_size=data.tokenizer.vocabulary_size)
    load_weights(model, checkpoint, key="record", provenance=record.provenance)
    scores = next(iter(record.scores.values()))
    return Scorer(
        model,
        data,
        config.decoding,
        directory,
        device,
        bleu_tokenizer_of(config),
        scores.checkpoint_step,
        scores.averaged_steps,
        limit=scored_sentences(config),
    ).score(parse_splits(list(record.scores)))


def _rescored(run: RecordedRun, config: TrainConfig, directory: RunDirectory, name: Split) -> SplitScores:
    """Score the stored hypotheses of a split; the likelihoods are the stored ones."""
    recorded = run.record.scores[name]
    data = prepare_data(config, trained_on=run.record.data_fingerprint)
    split = data.split(name, limit=scored_sentences(config))
    hypotheses, rows = run.hypotheses(name) or [], run.sentences(name)
    if len(hypotheses) != len(split):
        raise UserError(f"{run.directory.path}: has {len(hypotheses)} hypotheses of {name} for {len(split)} sentences")
    path = directory.path / recorded.hypotheses
    files.write_text(path, "".join(f"{line}\n" for line in hypotheses))
    quality = quality_of(
        data, split, hypotheses, bleu_tokenizer=bleu_tokenizer_of(config), trees=path.with_name(f"{name}.trees")
    )
    if rows is not None:
        made = [
            dataclasses.replace(row, bleu_statistics=counts, brackets=brackets)
            for row, (counts, brackets) in zip(rows, quality.sentences, strict=True)
        ]
        write_sentence_scores(path.with_name(f"{name}.sentences.jsonl"), made)
    return dataclasses.replace(
        recorded,
        ppl=recorded.ppl if rows is None else perplexity([row.nll for row in rows], [row.tokens for row in rows]),
        bleu=quality.bleu,
        chrf=quality.chrf,
        matrix=quality.matrix,
        brackets=quality.brackets,
    )
