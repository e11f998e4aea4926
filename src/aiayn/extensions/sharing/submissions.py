"""Submitted records, `records/<table>/<row>/<name>/`: made from a run, and verified without training."""

import hashlib
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from aiayn.config.freeze import frozen_content
from aiayn.errors import UserError
from aiayn.evaluation.bleu import bleu_from_statistics, sentence_statistics
from aiayn.evaluation.brackets import total
from aiayn.evaluation.perplexity import perplexity
from aiayn.evaluation.sentences import SentenceScores
from aiayn.evaluation.tokenization import tokenizer_of
from aiayn.extensions.sharing.replays import RecordedRun, content_hash
from aiayn.runs.directory import RunDirectory
from aiayn.runs.evaluations import read_scores
from aiayn.runs.provenance import digest
from aiayn.runs.public import find_secrets, public_record, without_folders
from aiayn.runs.record import Record, SplitScores, Status, json_text, read_record
from aiayn.system import files
from aiayn.system.documents import read_json

CHECKSUMS = "checksums.txt"
"""The SHA-256 of every other file of a record, in the form of sha256sum."""

ACCURACY = 1e-9
"""Largest relative difference of a score that is computed again, by another order of sums."""

COMMIT = re.compile(r"[0-9a-f]{40}")


class _Broken(Exception):  # noqa: N818 (a finding, not an error)
    """A finding that makes further checks of a record meaningless."""


def submit(run: RecordedRun, folder: Path) -> Path:
    """Copy a run's record below the folder and verify the copy; return its folder.

    The folders and the tracker of its configuration, which do not change results, are left out, and private parts of
    its record.

    Raises:
        UserError: the place is taken, or the record is not as a submitted one should be; nothing is left there.
    """
    target = folder / run.record.name
    if files.exists(target):
        raise UserError(f"submit={folder}: {target} is there already; remove it to submit again")
    if not run.has_config:
        raise UserError(f"record={run.directory.path}: no config.yaml lies there; a record needs it")
    own = run.directory
    patch, packages = own.source_patch(run.record.patch or ""), own.package_lock(run.record.packages or "")
    evaluation = Path(next(iter(run.record.scores.values())).hypotheses).parent
    copied = [own.metrics, packages, patch, *sorted((own.path / evaluation).iterdir())]
    with files.new_folder(target) as made:
        for path in (path for path in copied if files.is_file(path) and not path.name.startswith(".")):
            copy = made / path.relative_to(own.path)
            copy.parent.mkdir(parents=True, exist_ok=True)
            files.write_bytes(copy, path.read_bytes())
        config = without_folders(frozen_content(own.config))
        files.write_text(made / own.config.name, yaml.safe_dump(config, sort_keys=False, allow_unicode=True))
        record = public_record(read_json(own.record))
        files.write_text(made / own.record.name, json_text(record))
        files.write_text(made / CHECKSUMS, checksums(made))
        found = findings(made, name=run.record.name)
        if found:
            raise UserError(f"submit={folder}: {found[0].replace(str(made), str(own.path))}")
    return target


def checksums(folder: Path) -> str:
    """A line for each file of a record but the checksums themselves."""
    return "".join(f"{_sha256(folder / name)}  {name}\n" for name in _names(folder))


def _names(folder: Path) -> list[str]:
    paths = (path.relative_to(folder).as_posix() for path in folder.rglob("*") if files.is_file(path))
    return sorted(name for name in paths if name != CHECKSUMS)


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def records_below(folder: Path) -> list[Path]:
    """The folders of submitted records, `<table>/<row>/<name>`, sorted; UserError if there is no such folder."""
    if not files.is_dir(folder):
        raise UserError(f"check={folder}: no such folder")
    return sorted(path for path in folder.glob("*/*/*") if files.is_dir(path) and not path.name.startswith("."))


def findings(folder: Path, *, name: str | None = None) -> list[str]:
    """The defects of a submitted record, a line each that begins with the file.

    Args:
        folder: of the record.
        name: of the run; None: the last three parts of the folder.
    """
    name = name or "/".join(folder.absolute().parts[-3:])
    found = list(_of_files(folder))
    try:
        record = _record(folder, name)
    except _Broken as error:
        return [*found, str(error)]
    directory = RunDirectory(folder)
    checks: tuple[Callable[[RunDirectory, Record], Iterator[str]], ...] = (_of_origin, _of_config, _of_metrics)
    for check in checks:
        found += check(directory, record)
    for split, scores in record.scores.items():
        found += _of_scores(RecordedRun(directory, record), split, scores)
    return list(dict.fromkeys([*found, *_of_text(folder)]))


def _of_files(folder: Path) -> Iterator[str]:
    """The files are those that the checksums list."""
    path = folder / CHECKSUMS
    if not files.is_file(path):
        yield f"{path}: missing; aiayn replay submit= writes it"
        return
    lines = (line.partition("  ") for line in path.read_text(encoding="utf-8", errors="replace").split("\n") if line)
    stated = {name: checksum for checksum, _, name in lines}
    for name in _names(folder):
        if name not in stated:
            yield f"{folder / name}: not in {CHECKSUMS}; remove it, or submit again"
    for name, checksum in stated.items():
        if not files.is_file(folder / name):
            yield f"{folder / name}: missing; {CHECKSUMS} lists it"
        elif _sha256(folder / name) != checksum:
            yield f"{folder / name}: has another checksum than {CHECKSUMS} states"


def _record(folder: Path, name: str) -> Record:
    """The record, of a finished run at its place."""
    path = folder / "run.json"
    try:
        record = read_record(path)
    except UserError as error:
        raise _Broken(str(error)) from None
    if record.status is not Status.finished or not record.scores:
        raise _Broken(f"{path}: status={record.status}: only finished runs with scores are submitted")
    if record.trial is not None or record.imported is not None:
        raise _Broken(f"{path}: a trial or an imported model, which is no result")
    if record.name != name:
        raise _Broken(f"{path}: name={record.name}, and the folder is {name}; they must be the same")
    return record


def _of_origin(directory: RunDirectory, record: Record) -> Iterator[str]:
    """The code is a commit, clean or with its patch, and all packages are listed."""
    path = directory.record
    if not COMMIT.fullmatch(record.commit or ""):
        yield f"{path}: commit={record.commit}: train from a checkout, so that the code is known"
    if record.dirty is None:
        yield f"{path}: dirty=null: it is unknown whether the code had uncommitted changes"
    kept = {"packages": directory.package_lock(record.packages or "none")}
    if record.dirty:
        kept["patch"] = directory.source_patch(record.patch or "none")
    for key, file in kept.items():
        if not files.is_file(file):
            yield f"{file}: missing; {path.name} states {key}={getattr(record, key)}"
        elif digest(file.read_bytes()) != getattr(record, key):
            yield f"{file}: has another digest than {path.name} states, {key}={getattr(record, key)}"


def _of_config(directory: RunDirectory, record: Record) -> Iterator[str]:
    """The configuration has the hash, the seed and the names of the record."""
    path = directory.config
    try:
        content = frozen_content(path)
        found = content_hash(content)
    except UserError as error:
        yield str(error) if str(error).startswith(str(path)) else f"{path}: {error}"
        return
    if found != record.config_hash or not record.name.endswith(f"-{found}"):
        yield f"{path}: has the hash {found}, and run.json states config_hash={record.config_hash} of {record.name}"
    stated: dict[str, Any] = {"seed": content.get("seed"), "data": (content.get("data") or {}).get("name")}
    stated |= {key: (content.get("identity") or {}).get(key) for key in ("experiment", "scale", "fidelity")}
    for key, value in stated.items():
        if value != getattr(record, key):
            yield f"{path}: {key}={value}, and run.json states {getattr(record, key)}"


def _of_metrics(directory: RunDirectory, record: Record) -> Iterator[str]:
    """The metrics are of ascending steps up to the record's last one."""
    path = directory.metrics
    if not files.is_file(path):
        yield f"{path}: missing"
        return
    try:
        rows = list(directory.metric_rows())
    except UserError as error:
        yield str(error)
        return
    steps = [step for step, values in rows if "train/loss" in values]
    if not steps or steps != sorted(set(steps)) or steps[-1] > record.steps or steps[0] < 1:
        yield f"{path}: its steps do not ascend from 1 to {record.steps:,}"
    elif steps[-1] != record.steps and record.steps == record.max_steps:
        yield f"{path}: ends at step {steps[-1]:,} of {record.steps:,}"


def _values(scores: SplitScores) -> SplitScores:
    """The scores without the circumstances of scoring, which differ where a run was evaluated again."""
    return replace(scores, seconds=0.0, commit=None, dirty=None, patch=None)


def _of_scores(run: RecordedRun, split: str, scores: SplitScores) -> Iterator[str]:
    """Hypotheses, scores of sentences and `scores.json` are there and give the record's scores."""
    folder = (run.directory.path / scores.hypotheses).parent
    sentences = folder / f"{split}.sentences.jsonl"
    needed = (run.directory.path / scores.hypotheses, sentences, folder / "scores.json")
    if missing := [path for path in needed if not files.is_file(path)]:
        yield from (f"{path}: missing" for path in missing)
        return
    try:
        rows, hypotheses = run.evaluation.sentences(split), run.evaluation.hypotheses(split)
        beside = read_scores(folder / "scores.json").get(split)
    except UserError as error:
        yield str(error)
        return
    if beside is None or _values(beside) != _values(scores):
        yield f"{folder / 'scores.json'}: has other scores of {split} than run.json"
    for name, stated, computed in _computed(rows, scores):
        if not _is_close(stated, computed):
            yield f"{sentences}: its sentences give {split} {name} {computed:.6g}, and run.json states {stated:.6g}"
    if scores.brackets is None:
        tokenize = tokenizer_of(scores.quality.signature)
        counted = sentence_statistics(hypotheses, hypotheses, tokenize=tokenize)
        orders = [0, *range(6, 10)]  # the lengths and n-grams of hypotheses, which need no reference
        stored = np.array([row.bleu_statistics for row in rows])
        wrong = np.flatnonzero((counted[:, orders] != stored[:, orders]).any(axis=1))
        if len(wrong):
            path = run.directory.path / scores.hypotheses
            yield f"{path}: line {wrong[0] + 1} has other n-grams than {sentences.name} states"


def _computed(rows: list[SentenceScores], scores: SplitScores) -> Iterator[tuple[str, float, float]]:
    """Name, stated and computed value of each score that follows from those of sentences."""
    yield "PPL", scores.ppl, perplexity([row.nll for row in rows], [row.tokens for row in rows])
    if scores.bleu is not None and scores.brackets is None:
        statistics = np.array([row.bleu_statistics for row in rows], dtype=np.int64)
        yield scores.bleu_name, scores.bleu.score, bleu_from_statistics(statistics)
    if scores.brackets is not None:
        counts = total([row.brackets for row in rows if row.brackets is not None])
        for name in ("f1", "precision", "recall"):
            yield name, getattr(scores.brackets, name), getattr(counts, name)


def _is_close(stated: float, computed: float) -> bool:
    return stated == computed or math.isclose(stated, computed, rel_tol=ACCURACY)


def _of_text(folder: Path) -> Iterator[str]:
    """No file has a leak; sentences are not read."""
    for name in _names(folder):
        if name.endswith((".hypotheses.txt", ".trees", CHECKSUMS)):
            continue
        text = (folder / name).read_text(encoding="utf-8", errors="replace")
        yield from (f"{folder / name}: has {leak}; remove it" for leak in find_secrets(text))
