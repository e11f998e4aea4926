"""The versions of the code that made the runs of a report: a result may differ between two commits."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aiayn.runs.provenance import COMMIT_DIGITS, commit_text
from aiayn.runs.record import Record, SplitScores

MOST_RUNS = 4
"""Runs of a version that a remark names; of more it gives the number."""


@dataclass(frozen=True)
class CodeVersion:
    """One version, and the runs that it made."""

    commit: str | None
    """None where the program did not run from a checkout."""
    dirty: bool
    """Whether the checkout had uncommitted changes."""
    earlier: tuple[str, ...]
    """Commits that began these runs, before this one resumed them."""
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
        earlier = list(self.earlier)
        runs = [str(run) for run in self.runs]
        return {"commit": self.commit, "dirty": self.dirty, "earlier_commits": earlier, "runs": runs}


def code_versions(runs: Iterable[tuple[Path, Record]]) -> tuple[CodeVersion, ...]:
    """The versions that made some runs, that of the most runs first.

    Args:
        runs: folder and record of each.
    """
    found: dict[tuple[str | None, bool, tuple[str, ...]], list[tuple[Path, str]]] = {}
    for path, record in runs:
        version = record.commit, bool(record.dirty), tuple(record.earlier_commits)
        found.setdefault(version, []).append((path, record.name))
    versions = [
        CodeVersion(*version, runs=tuple(path for path, _ in made), names=tuple(name for _, name in made))
        for version, made in found.items()
    ]
    return tuple(sorted(versions, key=lambda version: -len(version.runs)))


def version_remarks(versions: Sequence[CodeVersion]) -> Iterator[str]:
    """A line: the one version, or all of them with their runs."""
    if len(versions) == 1:
        yield f"code: {versions[0].text}"
    elif versions:
        each = "; ".join(f"{version.text}: {_runs(version.names)}" for version in versions)
        yield f"code: the runs are of {len(versions)} versions, whose results may differ: {each}"


def scoring_remarks(scored: Iterable[tuple[str, Record, SplitScores]]) -> Iterator[str]:
    """A line for each score that another version of the code made than the run's.

    Args:
        scored: name and record of the run, and its scores.
    """
    for name, record, scores in scored:
        if scores.commit is not None and (scores.commit, scores.dirty) != (record.commit, record.dirty):
            yield f"code: {scores.hypotheses} of {name} was scored by {commit_text(scores.commit, scores.dirty)}"


def _runs(names: Sequence[str]) -> str:
    return f"{len(names)} runs" if len(names) > MOST_RUNS else ", ".join(names)
