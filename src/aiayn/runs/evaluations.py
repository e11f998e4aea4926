"""Evaluations on disk: the one in a run's record, or another below its `evaluations`."""

from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import TypeVar

from aiayn.data.corpora.corpus import Split
from aiayn.data.lines import file_lines
from aiayn.errors import UserError
from aiayn.evaluation.sentences import EVALUATE_AGAIN, SentenceScores, read_sentence_scores
from aiayn.runs.directory import RunDirectory, open_run
from aiayn.runs.record import Record, SplitScores, read_record
from aiayn.system import files
from aiayn.system.documents import read_as

SCORES = "scores.json"

Line = TypeVar("Line", str, SentenceScores)


@dataclass(frozen=True)
class Evaluation:
    """The scores of one checkpoint and search."""

    directory: RunDirectory
    record: Record
    scores: dict[str, SplitScores]
    """By split."""
    name: str
    """As the user named it."""
    remedy: str = EVALUATE_AGAIN
    """For a damaged file."""

    def of(self, split: str, *, key: str) -> SplitScores:
        """The scores of a split, dev or test; UserError about the configuration `key` if it has none."""
        if split not in self.scores:
            state = f"it has {', '.join(self.scores)}" if self.scores else f"the run is {self.record.status.value}"
            raise UserError(f"{key}={self.name}: not evaluated on {split}; {state}; aiayn evaluate scores more")
        return self.scores[split]

    def hypotheses(self, split: str) -> list[str]:
        """The decoded sentences of an evaluated split; UserError if their file is missing or damaged."""
        path = self._path(split)
        return self._counted(split, path, list(file_lines(path, "hypotheses")))

    def sentences(self, split: str) -> list[SentenceScores]:
        """The scores of each sentence of an evaluated split; UserError if their file is missing or damaged."""
        path, are_trees = self.sentences_path(split), self.scores[split].brackets is not None
        rows = self._counted(split, path, read_sentence_scores(path, remedy=self.remedy))
        if any((row.brackets is not None) != are_trees for row in rows):
            raise UserError(f"{path}: has scores of {'translations' if are_trees else 'trees'}; {self.remedy}")
        return rows

    def sentences_path(self, split: str) -> Path:
        """The file of the scores of each sentence of an evaluated split."""
        return self._path(split).with_name(f"{split}.sentences.jsonl")

    def _counted(self, split: str, path: Path, lines: list[Line]) -> list[Line]:
        expected = self.scores[split].sentences
        if len(lines) != expected:
            raise UserError(f"{path}: {len(lines)} lines where {expected} were scored; {self.remedy}")
        return lines

    def _path(self, split: str) -> Path:
        return self.directory.path / self.scores[split].hypotheses


def open_evaluation(path: str, *, key: str = "run") -> Evaluation:
    """The evaluation that the user named under a configuration key: a run directory, or a folder of `evaluations`.

    Raises:
        UserError: it is neither, or of a trial, or a file is damaged.
    """
    folder = Path(path)
    has_scores = files.is_file(folder / SCORES)
    directory = open_run(str(folder.resolve().parents[1]) if has_scores else path, key=key)
    record = read_record(directory.record)
    if record.trial is not None:
        raise UserError(f"{key}={path}: a trial ({record.trial}), which is no result; aiayn report run shows it")
    return Evaluation(directory, record, read_scores(folder / SCORES) if has_scores else record.scores, path)


def score_files(directory: RunDirectory) -> list[Path]:
    """The files of the scores of all evaluations of a run, in order."""
    every = (folder / SCORES for folder in files.listed(directory.evaluations))
    return [path for path in every if files.is_file(path)]


def other_searches(directory: RunDirectory, split: str, own: SplitScores) -> list[SplitScores]:
    """The scores of other searches with the same weights on the same sentences, by the names of their folders."""
    found = [read_scores(path).get(split) for path in score_files(directory)]
    weights = attrgetter("checkpoint_step", "averaged_steps", "engine", "sentences")
    same = [scores for scores in found if scores is not None and weights(scores) == weights(own)]
    return [scores for scores in same if own.search is not None and scores.search not in (None, own.search)]


def read_scores(path: Path) -> dict[str, SplitScores]:
    """The scores of an evaluation by split; UserError if the file is missing or damaged."""
    try:
        found = read_as(dict[Split, SplitScores], path, remedy="evaluate again")
    except FileNotFoundError:
        raise UserError(f"{path}: no such file; evaluate again") from None
    return {split: scores for split, scores in found.items()}  # noqa: C416 (with text as keys)
