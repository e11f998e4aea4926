"""The settings of a search."""

from dataclasses import dataclass
from enum import StrEnum

from omegaconf import MISSING

from aiayn.config.values import Count, Seed, text


class Objective(StrEnum):
    """The development score that a search optimises: the lowest perplexity or the highest BLEU."""

    ppl = "ppl"
    bleu = "bleu"


@dataclass
class SweeperConfig:
    """`hydra.sweeper` of a search; sweeps/search.yaml holds the values."""

    _target_: str = "hydra_plugins.aiayn_sweepers.SearchSweeper"
    params: dict[str, str] = MISSING
    """The keys to search and their values, written as on the command line: intervals, or choices with commas."""
    trials: Count = MISSING
    """Runs in all, those of earlier commands included."""
    objective: Objective = MISSING
    """The score to optimise."""
    seed: Seed = MISSING
    """Seed of the sampler."""
    storage: str = text()
    """Storage of the study, a URL of Optuna."""
