"""The versions of the code that made the runs of a report: a result may differ between two commits."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aiayn.runs.provenance import COMMIT_DIGITS, commit_text
from aiayn.runs.record import Record, SplitScores

MOST_RUNS = 4
"""Runs of a version that a remark names; of more it states the number."""


@dataclass(frozen=True)
class CodeVersion:
    """One version, and the runs that it made."""

    commit: str | None
    """None where the program did not run from a checkout."""
    dirty: bool
    """Whether the checkout had uncommitted changes."""
    earlier: tuple[str, ...]
    """Commits that began these runs."""
    runs: tuple[Path, ...]
    names: tuple[str, ...]
    """Of the same runs, below the folder of runs."""

    @property
    def text(self) -> str:
        """As in "commit 0123456789ab with uncommitted changes"."""
        begun = f", begun by {', '.join(commit[:COMMIT_DIGITS] for commit in self.earlier)}" if self.earlier else ""
        return f"{commit_text(self.commit, self.dirty)}{begun}"

    def plain(self) -> dict[str, Any]:
        """For JSON."""
        runs = [str(run) for run in self.runs]
        return {"commit": self.commit, "dirty": self.dirty, "earlier_commits": list(self.earlier), "runs": runs}


def code_versions(runs: Iterable[tuple[Path, Record]]) -> tuple[CodeVersion, ...]:
    """The versions that made some runs, given with their folders; that of the most runs first."""
    found: defaultdict[tuple[str | None, bool, tuple[str, ...]], dict[Path, str]] = defaultdict(dict)
    for path, record in runs:
        found[record.commit, bool(record.dirty), tuple(record.earlier_commits)][path] = record.name
    versions = (CodeVersion(*version, tuple(made), tuple(made.values())) for version, made in found.items())
    return tuple(sorted(versions, key=lambda version: -len(version.runs)))


def version_remarks(versions: Sequence[CodeVersion]) -> Iterator[str]:
    """A line: the one version, or all of them with their runs."""
    if len(versions) == 1:
        yield f"code: {versions[0].text}"
    elif versions:
        names = [f"{len(each.runs)} runs" if len(each.runs) > MOST_RUNS else ", ".join(each.names) for each in versions]
        each = "; ".join(f"{version.text}: {runs}" for version, runs in zip(versions, names, strict=True))
        yield f"code: the runs are of {len(versions)} versions, whose results may differ: {each}"


def scoring_remarks(scored: Iterable[tuple[str, Record, SplitScores]]) -> Iterator[str]:
    """A line for each score that another version of the code made than the run's; given are name, record and scores."""
    for name, record, scores in scored:
        if scores.commit is not None and (scores.commit, scores.dirty) != (record.commit, record.dirty):
            yield f"code: {scores.hypotheses} of {name} was scored by {commit_text(scores.commit, scores.dirty)}"
