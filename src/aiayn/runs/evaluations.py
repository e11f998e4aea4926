"""Evaluations on disk: the one in a run's record, or another below its `evaluations`."""

import json
from dataclasses import dataclass
from pathlib import Path

from aiayn.data.lines import file_lines
from aiayn.errors import UserError
from aiayn.evaluation.sentences import SentenceScores, read_sentence_scores
from aiayn.runs.directory import RunDirectory, open_run
from aiayn.runs.record import Record, SplitScores, read_record, split_scores

SCORES = "scores.json"


@dataclass(frozen=True)
class Evaluation:
    """The scores of one checkpoint and search."""

    directory: RunDirectory
    record: Record
    """Of the run."""
    scores: dict[str, SplitScores]
    """By split."""
    name: str
    """As the user named it."""

    def of(self, split: str, *, key: str) -> SplitScores:
        """The scores of a split, dev or test.

        Raises:
            UserError: it has not been evaluated; the message begins with the configuration `key`.
        """
        if split not in self.scores:
            state = f"it has {', '.join(self.scores)}" if self.scores else f"the run is {self.record.status.value}"
            raise UserError(f"{key}={self.name}: not evaluated on {split}; {state}; aiayn evaluate scores more")
        return self.scores[split]

    def hypotheses(self, split: str) -> list[str]:
        """The decoded sentences of an evaluated split; UserError if their file is missing or damaged."""
        path = self._path(split)
        lines = list(file_lines(path, "hypotheses"))
        self._check_count(split, path, len(lines))
        return lines

    def sentences(self, split: str) -> list[SentenceScores]:
        """The scores of each sentence of an evaluated split; UserError if their file is missing or damaged."""
        path = self._path(split).with_name(f"{split}.sentences.jsonl")
        rows = read_sentence_scores(path)
        self._check_count(split, path, len(rows))
        return rows

    def _check_count(self, split: str, path: Path, lines: int) -> None:
        expected = self.scores[split].sentences
        if lines != expected:
            raise UserError(f"{path}: {lines} lines where {expected} were scored; evaluate the run again")

    def _path(self, split: str) -> Path:
        return self.directory.path / self.scores[split].hypotheses


def open_evaluation(path: str, *, key: str = "run") -> Evaluation:
    """The evaluation that the user named: a run directory, or a folder below its `evaluations`.

    Raises:
        UserError: it is neither, or of a trial, or a file is damaged; the message begins with the configuration `key`.
    """
    folder = Path(path)
    has_scores = (folder / SCORES).is_file()
    directory = open_run(str(folder.resolve().parents[1]) if has_scores else path, key=key)
    record = read_record(directory.record)
    if record.trial is not None:
        raise UserError(f"{key}={path}: a trial ({record.trial}), which is no result; aiayn report run shows it")
    return Evaluation(directory, record, read_scores(folder / SCORES) if has_scores else record.scores, path)


def other_searches(directory: RunDirectory, split: str, own: SplitScores) -> list[SplitScores]:
    """The scores of other searches with the same weights on the same sentences, by the names of their folders."""
    found = [read_scores(path).get(split) for path in sorted(directory.evaluations.glob(f"*/{SCORES}"))]
    return [scores for scores in found if scores is not None and _is_other_search(scores, own)]


def _is_other_search(scores: SplitScores, own: SplitScores) -> bool:
    if None in (scores.search, own.search) or scores.search == own.search:
        return False
    return all(
        getattr(scores, name) == getattr(own, name)
        for name in ("checkpoint_step", "averaged_steps", "engine", "sentences")
    )


def read_scores(path: Path) -> dict[str, SplitScores]:
    """The scores of an evaluation by split; UserError if the file is damaged."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        return {split: split_scores(value) for split, value in content.items()}
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise UserError(f"{path}: not the scores of an evaluation ({error}); evaluate again") from error
