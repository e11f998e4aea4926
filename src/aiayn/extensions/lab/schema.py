"""The settings of a pre-registered study; only those that a study may leave out have defaults."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from omegaconf import MISSING

from aiayn.config.values import Count, text, text_or_null, true_or_false


class Stage(StrEnum):
    """The stages of a pre-registered study."""

    freeze = "freeze"
    """Freezes the plan and starts no run."""
    runs = "runs"
    """Freezes the plan, unless it is frozen, and starts its runs."""


@dataclass
class RegisteredConfig:
    """`hydra.sweeper` of a pre-registered study; its file in sweeps/ holds the values."""

    _target_: str = "hydra_plugins.aiayn_sweepers.RegisteredSweeper"
    stage: Stage | None = MISSING
    """What to do, stated on the command line: freeze, which only freezes the plan; or runs, which freezes it first;
    null: not stated."""
    base: str = text()
    """The row that others are compared with."""
    rows: dict[str, list[str]] = MISSING
    """The overrides of each row, by its name."""
    seeds: Any = MISSING
    """For each row, or `others`: a number n, for the seeds 1 to n, or a list of seeds."""
    looks: bool = true_or_false()
    """Whether reports before the last run has finished are allowed; otherwise each one is a deviation from the plan."""
    claims: list[Any] = MISSING
    """Claims of the paper, as in {paper: one_head}, or of the study: id, statement, primary, secondary, may_fail,
    requires; an empty list in a study of pilots, whose runs are in no table."""
    floor: dict[str, Any] | None = None
    """log_ppl that no model can be expected to go below on this corpus, and why; caps assumed differences."""
    steps: list[Count] = field(default_factory=list)
    """Further budgets, after which claims are shown beside those of all steps and never chosen from."""
    processors: list[str] = field(default_factory=list)
    """Makes of processor on which runs are no deviation."""
    power_from: str | None = text_or_null(None)
    """The study whose runs tell the power: one with a frozen plan in paths.runs, as of pilots, or the folder of a
    published one; null: power is unknown."""
