"""What a search for the best decoding found: every setting that was tried, and two that were searched for real."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from aiayn.evaluation.score import Score
from aiayn.evaluation.significance import Interval


class DecodingSetting(NamedTuple):
    """What is tuned, in the order in which equally good ones are preferred: small beams, then small alphas."""

    beam_size: int
    alpha: float
    """Of the length penalty."""


@dataclass(frozen=True)
class Tried:
    """A setting by hypotheses that were ranked anew."""

    setting: DecodingSetting
    bleu: float
    length_ratio: float
    """Words of the hypotheses / words of the references, as BLEU counts them."""


@dataclass(frozen=True)
class Searched:
    """A setting by a search of its own, and how it differs from the ranking."""

    setting: DecodingSetting
    bleu: Score
    length_ratio: float
    other_outputs: int | None
    """Sentences whose output is another than by ranking anew; None where the setting was not among those tried."""


@dataclass(frozen=True)
class Tuning:
    """The settings of one model on the development set."""

    runs: Sequence[str]
    """As the user named them."""
    checkpoint: str
    """As the user named it."""
    steps: Sequence[int]
    """The optimizer step of each run's checkpoint."""
    overrides: Sequence[str]
    """What else was searched differently than the run says, as words of a command."""
    data: str
    fingerprint: str
    """Of the prepared corpus."""
    sentences: int
    tried: Sequence[Tried]
    best: Searched
    paper: Searched
    """The paper's setting (section 6.1)."""
    difference: Interval
    """BLEU of the best less that of the paper's, over draws of the sentences."""

    def at(self, setting: DecodingSetting) -> Tried:
        """What was tried by its setting."""
        return next(each for each in self.tried if each.setting == setting)


def best_tried(tried: Sequence[Tried]) -> Tried:
    """The highest BLEU; of equals the smaller beam, then the smaller alpha."""
    return min(tried, key=lambda each: (-each.bleu, each.setting))
