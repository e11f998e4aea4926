"""The result of tuning the search: every setting by re-ranking, and two by a search of their own."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from aiayn.evaluation.paired import PairedTest
from aiayn.evaluation.score import Score


class DecodingSetting(NamedTuple):
    """The tuned values, ordered by preference: small beams, then small alphas of the length penalty."""

    beam_size: int
    alpha: float


@dataclass(frozen=True)
class EvaluatedSetting:
    """A setting evaluated by ranking hypotheses anew."""

    setting: DecodingSetting
    bleu: float
    length_ratio: float
    """Words of the hypotheses / words of the references, as BLEU counts them."""


@dataclass(frozen=True)
class Searched:
    """A setting evaluated by a search of its own."""

    setting: DecodingSetting
    bleu: Score
    length_ratio: float
    other_outputs: int | None
    """Sentences whose output differs from that of re-ranking; None if the setting was not tried."""


@dataclass(frozen=True)
class Tuning:
    """The settings of one model on the development set."""

    runs: Sequence[str]
    checkpoint: str
    """As the user named it."""
    steps: Sequence[int]
    """The optimizer step of each run's checkpoint."""
    overrides: Sequence[str]
    """Other overrides of the run's search."""
    data: str
    fingerprint: str
    sentences: int
    tried: Sequence[EvaluatedSetting]
    best: Searched
    paper: Searched
    """Section 6.1."""
    difference: PairedTest
    """BLEU of the best less that of the paper's, over draws of the sentences."""

    def at(self, setting: DecodingSetting) -> EvaluatedSetting:
        """The result of a setting."""
        return next(each for each in self.tried if each.setting == setting)


def best_tried(tried: Sequence[EvaluatedSetting]) -> EvaluatedSetting:
    """The setting with the highest BLEU; among equals the smaller beam, then the smaller alpha."""
    return min(tried, key=lambda each: (-each.bleu, each.setting))
