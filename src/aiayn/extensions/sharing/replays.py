"""Records to replay, and the mark of the run directories that replay them."""

from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from aiayn.config.freeze import frozen_content
from aiayn.config.identity import configuration_hash
from aiayn.errors import UserError
from aiayn.evaluation.sentences import SentenceScores
from aiayn.runs.directory import RunDirectory
from aiayn.runs.evaluations import Evaluation
from aiayn.runs.record import Record, json_text, read_record
from aiayn.system import files
from aiayn.system.documents import read_as

REMEDY = "restore the file, or remove it"
"""For a damaged file beside another person's record, which can be compared without it."""


@dataclass(frozen=True)
class RecordedRun:
    """A record, and the files of its run that lie beside it; only `run.json` need be there."""

    directory: RunDirectory
    record: Record

    @property
    def has_config(self) -> bool:
        """Whether the configuration lies beside the record."""
        return files.is_file(self.directory.config)

    def metrics(self) -> dict[int, dict[str, float | None]]:
        """The logged values by step, without those that depend on the clock; empty without `metrics.jsonl`."""
        found: dict[int, dict[str, float | None]] = {}
        for step, values in self.directory.metric_rows():
            kept = {key: value for key, value in values.items() if key != "step" and "second" not in key}
            found[step] = found.get(step, {}) | kept
        return found

    def sentences(self, split: str) -> list[SentenceScores] | None:
        """The scores of each sentence of a split; None if their file is not there."""
        evaluation = self.evaluation
        return evaluation.sentences(split) if files.is_file(evaluation.sentences_path(split)) else None

    def hypotheses(self, split: str) -> list[str] | None:
        """The decoded sentences of a split; None if their file is not there."""
        path = self.directory.path / self.record.scores[split].hypotheses
        return self.evaluation.hypotheses(split) if files.is_file(path) else None

    @cached_property
    def evaluation(self) -> Evaluation:
        """The evaluation of the record."""
        return Evaluation(self.directory, self.record, self.record.scores, str(self.directory.path), REMEDY)


@dataclass(frozen=True)
class ReplayMark:
    """The content of `replay.json`: the record that a run directory replays."""

    run_id: str
    record: str
    """Its file."""


def open_record(path: str) -> RecordedRun:
    """The record that the user named: `run.json`, or the folder that holds it.

    Raises:
        UserError: it is no finished run, or a file is damaged.
    """
    named = Path(path).expanduser()
    file = named / "run.json" if files.is_dir(named) else named
    if not files.exists(named):
        raise UserError(f"record={path}: nothing is there; name a file run.json, or the run directory that holds it")
    if file.name != "run.json":
        raise UserError(f"record={path}: name a file run.json, or the run directory that holds it")
    record = read_record(file)
    if record.imported is not None:
        raise UserError(f"record={path}: an imported model, which was not trained here; there is nothing to replay")
    if not record.scores:
        raise UserError(f"record={path}: the run is {record.status.value} and has no scores; name a finished run")
    run = RecordedRun(RunDirectory(file.parent), record)
    _check_metrics(run)
    for split in record.scores:
        run.sentences(split)
        run.hypotheses(split)
    return run


def _check_metrics(run: RecordedRun) -> None:
    """Refuse a damaged file of metrics: its steps would be taken for those that were logged."""
    path = run.directory.metrics
    if files.is_file(path) and not run.metrics() and run.record.steps:
        raise UserError(
            f"{path}: is empty, and the run has {run.record.steps:,} steps; {REMEDY}: the steps are then not compared"
        )


def content_hash(content: dict[str, Any]) -> str:
    """The hash of a frozen configuration; UserError if it lacks its identity."""
    identity = content.get("identity") or {}
    if "fidelity" not in identity:
        raise UserError("config.yaml: has no identity.fidelity; restore the file")
    return configuration_hash(content, fidelity=identity["fidelity"], sources=identity.get("sources") or "")


def check_hash(run: RecordedRun) -> None:
    """Refuse a configuration beside a record that is not the record's, or has another seed."""
    content = frozen_content(run.directory.config)
    found, seed = content_hash(content), content.get("seed")
    if found != run.record.config_hash:
        raise UserError(
            f"{run.directory.config}: has the hash {found}, and the record states config_hash="
            f"{run.record.config_hash}: one of them was changed; restore it"
        )
    if seed != run.record.seed:
        raise UserError(
            f"{run.directory.config}: has seed={seed}, and the record states seed={run.record.seed}: one of them was "
            "changed; restore it"
        )


def mark_replay(directory: RunDirectory, run: RecordedRun) -> None:
    """Mark a run directory as a replay, which no report counts; UserError if it holds another run."""
    mark = ReplayMark(run.record.run_id, str(run.directory.record.resolve()))
    if files.is_file(directory.replay_file):
        held = read_as(ReplayMark, directory.replay_file, remedy="state another output, or remove it")
        if held.run_id != run.record.run_id:
            raise UserError(
                f"output: {directory.path} holds the replay of run {held.run_id}; state another folder, or remove it"
            )
        return
    if files.is_file(directory.record):
        raise UserError(f"output: {directory.path} holds a run that is no replay; state another folder")
    directory.path.mkdir(parents=True, exist_ok=True)
    files.write_text(directory.replay_file, json_text(asdict(mark)))
