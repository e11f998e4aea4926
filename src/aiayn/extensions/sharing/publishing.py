"""The files of a published run: a run directory with weights as safetensors, and without training state."""

from dataclasses import asdict
from pathlib import Path

import torch
import yaml

from aiayn.config.freeze import frozen_content
from aiayn.config.schema import ProcessConfig
from aiayn.errors import UserError
from aiayn.inference.averaging import steps_averaged
from aiayn.inference.opened_runs import OpenedRun, open_for_use
from aiayn.inference.weights import finite_weights
from aiayn.runs.directory import RunDirectory
from aiayn.runs.evaluations import read_scores, score_files
from aiayn.runs.public import public_config, public_record
from aiayn.runs.record import Record, SplitScores, Status, json_text, read_record
from aiayn.runs.weights_file import PublishedWeights
from aiayn.system import files
from aiayn.system.extras import require
from aiayn.training.checkpoint_io import weights_digest

OF_EVALUATIONS = ("hypotheses.txt", "sentences.jsonl", "trees")
"""Files of each scored split that are published."""


def publishable(directory: RunDirectory, *, name: str) -> Record:
    """The record of a run that may be published; `name` as the user stated it.

    Raises:
        UserError: it is a trial, is not finished, or is a model of another library.
    """
    record, place = read_record(directory.record), f"run={name}"
    if record.trial is not None:
        raise UserError(f"{place}: a trial ({record.trial}), which is no result and is not published")
    if record.imported is not None:
        raise UserError(f"{place}: a model of {record.imported.library}; publish it with its own library")
    if record.status is not Status.finished:
        raise UserError(f"{place}: is {record.status.value}; only finished runs are published")
    return record


def open_to_publish(
    run: str, record: Record, *, checkpoint: str | None, launch: ProcessConfig, trust: bool
) -> OpenedRun:
    """The run with one checkpoint; None: the one whose scores are in the record."""
    if checkpoint is None:
        averages = any(scores.averaged_steps for scores in record.scores.values())
        checkpoint = "average" if averages else "last"
    return open_for_use(run, checkpoint=checkpoint, launch=launch, trust=trust)


def scores_of(run: OpenedRun) -> dict[str, SplitScores]:
    """The scores of the run's checkpoint by its own search, by split; empty if it was not evaluated."""
    averaged = steps_averaged(run.checkpoint)

    def fits(scores: SplitScores) -> bool:
        return (scores.checkpoint_step, scores.averaged_steps, scores.engine) == (run.step, averaged, "torch")

    found = {split: scores for split, scores in run.record.scores.items() if fits(scores)}
    if found:
        return found
    own_search = {each.search for each in run.record.scores.values()}
    for path in score_files(run.directory):
        scores = read_scores(path)
        if all(fits(each) and each.search in own_search for each in scores.values()):
            return scores
    return {}


def write_published(run: OpenedRun, scores: dict[str, SplitScores], folder: Path) -> None:
    """Write weights, tokenizer, configuration, record and evaluations to an empty folder, without private values."""
    require("safetensors", extra="hub", setting="aiayn publish")
    from safetensors.torch import save

    published, tokenizer = RunDirectory(folder), run.tokenizer()
    tokenizer.save(published.tokenizer)
    weights = finite_weights(
        run.model(vocabulary_size=tokenizer.vocabulary_size, device=torch.device("cpu")), run.checkpoint
    )
    averaged = steps_averaged(run.checkpoint)
    known = PublishedWeights(run.checkpoint_name, run.step, averaged, run.record.provenance, weights_digest(weights))
    files.write_bytes(published.weights, save(weights, known.metadata()))
    config = public_config(frozen_content(run.directory.config))
    files.write_text(published.config, yaml.safe_dump(config, sort_keys=False, allow_unicode=True))
    record = public_record(asdict(run.record) | {"scores": {split: asdict(each) for split, each in scores.items()}})
    files.write_text(published.record, json_text(record))
    for split, each in scores.items():
        hypotheses = run.directory.path / each.hypotheses
        for suffix in OF_EVALUATIONS:
            if files.is_file(source := hypotheses.with_name(f"{split}.{suffix}")):
                if not source.resolve().is_relative_to(run.directory.path.resolve()):
                    raise UserError(f"{source}: a link out of the run directory; not published: replace it by the file")
                target = folder / source.relative_to(run.directory.path)
                target.parent.mkdir(parents=True, exist_ok=True)
                files.write_bytes(target, source.read_bytes())
