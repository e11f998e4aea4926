"""The interface between a run and its trackers: a description, metrics, and final results."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable


@dataclass(frozen=True)
class RunDescription:
    """The description of a run on a dashboard."""

    run_id: str
    """The same for all attempts."""
    name: str
    is_swept: bool
    """Whether one command, or one agent, starts several runs."""
    group: str
    """The sweep or table."""
    job_type: str
    """The row, and the run's changes to it."""
    tags: tuple[str, ...]
    notes: str
    """The row's changes to the base model, and the run's."""
    config: Mapping[str, Any]
    """The resolved configuration, as plain values."""
    checkout: Path | None
    """The git checkout of the code."""


@runtime_checkable
class Tracker(Protocol):
    """A logger that also takes the results of a whole run."""

    def log_summary(self, summary: Mapping[str, float | int | str | None]) -> None:
        """Set numbers and words that describe the whole run."""

    def log_table(self, name: str, columns: Sequence[str], rows: Sequence[Sequence[object]], *, step: int) -> None:
        """Show a table of text and numbers, made at an optimizer step."""

    def upload_checkpoint(self, path: Path, *, step: int, ppl: float | None) -> None:
        """Upload the checkpoint with the lowest `val/ppl`, if it is known, where uploads are enabled."""

    def finish(self, exit_code: int) -> None:
        """End the run."""
