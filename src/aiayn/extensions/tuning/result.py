"""The result of tuning the search: every setting by re-ranking, and two by a search of their own."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from aiayn.evaluation.paired import PairedTest
from aiayn.evaluation.score import Score
from aiayn.reports.content import Content


@dataclass(frozen=True, order=True)
class DecodingSetting:
    """The tuned values, ordered by preference: small beams, then small alphas of the length penalty."""

    beam_size: int
    """Hypotheses kept at a step."""
    alpha: float
    """Strength of the length penalty."""


@dataclass(frozen=True)
class EvaluatedSetting:
    """A setting evaluated by ranking hypotheses anew."""

    setting: DecodingSetting
    """The setting."""
    bleu: float
    """BLEU on dev."""
    length_ratio: float
    """Words of the hypotheses / words of the references, as BLEU counts them."""


@dataclass(frozen=True)
class Searched:
    """A setting evaluated by a search of its own."""

    setting: DecodingSetting
    """The setting."""
    bleu: Score
    """BLEU on dev."""
    length_ratio: float
    """Words of the hypotheses / words of the references, as BLEU counts them."""
    other_outputs: int | None
    """Sentences whose output differs from that of re-ranking; None if the setting was not tried."""


@dataclass(frozen=True)
class Tuning:
    """The settings of one model on the development set."""

    runs: Sequence[str]
    """Run directories; several are an ensemble."""
    checkpoint: str
    """The checkpoint as the user named it."""
    steps: Sequence[int]
    """The optimizer step of each run's checkpoint."""
    overrides: Sequence[str]
    """Other overrides of the run's search."""
    data: str
    """The corpus."""
    fingerprint: str
    """Checksum of the prepared corpus."""
    sentences: int
    """Sentences of dev."""
    tried: Sequence[EvaluatedSetting]
    """Every setting."""
    best: Searched
    """The setting with the highest BLEU, searched with."""
    paper: Searched
    """The setting of section 6.1, searched with."""
    difference: PairedTest
    """BLEU of the best less that of the paper's, over draws of the sentences."""

    def at(self, setting: DecodingSetting) -> EvaluatedSetting:
        """The result of a setting."""
        return next(each for each in self.tried if each.setting == setting)


@dataclass(frozen=True)
class TuneContent(Tuning, Content):
    """Beam sizes and length penalties: aiayn tune."""

    schema: ClassVar = "tune/1"

    split: Literal["dev"]
    """The split that the scores are of."""
    command: str
    """The command that scores the test set with the best setting."""


def best_tried(tried: Sequence[EvaluatedSetting]) -> EvaluatedSetting:
    """The setting with the highest BLEU; among equals the smaller beam, then the smaller alpha."""
    return min(tried, key=lambda each: (-each.bleu, each.setting))
