"""Constrained searches: a mask over a model's predictions."""

import math
from dataclasses import dataclass
from typing import Generic, Protocol, Self, TypeVar

from torch import Tensor

from aiayn.decoding.step import AnyState, DecodingState, StepFunction


class Constraint(DecodingState, Protocol):
    """The tokens that may follow each beam of each sentence.

    It begins before bos and is reordered as the model's state. Abandoned beams are still read until their places are
    needed; answers for them do not matter.
    """

    def read(self, tokens: Tensor) -> None:
        """Read one token per beam, int64 [sentences, beam]; bos is the first."""
        ...

    def allowed(self) -> Tensor:
        """Bool [sentences, beam, vocabulary]; at least one token for a beam that was always allowed."""
        ...


class Rules(Protocol):
    """What outputs of any sentence must be."""

    def begin(self, words: Tensor, max_lengths: Tensor) -> Constraint:
        """Before bos, one beam per sentence, for int64 [sentences] words and most tokens to generate, eos included."""
        ...


AnyConstraint = TypeVar("AnyConstraint", bound=Constraint)


@dataclass(frozen=True)
class ConstrainedState(Generic[AnyState, AnyConstraint]):
    """The state of a model, and of the constraint of its search."""

    model: AnyState
    constraint: AnyConstraint

    def reorder(self, beams: Tensor) -> None:
        """See `DecodingState`."""
        self.model.reorder(beams)
        self.constraint.reorder(beams)

    def keep(self, sentences: Tensor) -> None:
        """See `DecodingState`."""
        self.model.keep(sentences)
        self.constraint.keep(sentences)

    def join(self, other: Self) -> None:
        """See `DecodingState`."""
        self.model.join(other.model)
        self.constraint.join(other.constraint)


def constrained(step: StepFunction[AnyState]) -> StepFunction[ConstrainedState[AnyState, AnyConstraint]]:
    """A step of the model after which only tokens that the constraint allows are possible.

    They keep the model's probabilities, which are not renormalised: a hypothesis scores as without the constraint.
    Greedy search, or a beam wide enough for every output, finds the same as without where that satisfies the
    constraint. In a narrower beam, scores may be higher or lower.
    """

    def masked(tokens: Tensor, state: ConstrainedState[AnyState, AnyConstraint]) -> tuple[Tensor, Tensor]:
        logits, normalizers = step(tokens, state.model)
        state.constraint.read(tokens)
        return logits.masked_fill_(~state.constraint.allowed(), -math.inf), normalizers

    return masked
