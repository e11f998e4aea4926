"""Searches in which only some continuations are possible: a mask over what a model predicts."""

import math
from dataclasses import dataclass
from typing import Generic, Protocol, Self, TypeVar

from torch import Tensor

from aiayn.decoding.step import AnyState, DecodingState, StepFunction


class Constraint(DecodingState, Protocol):
    """Which tokens may come next: one answer for each beam of each sentence, by what the beam has read so far.

    It begins before bos and is reordered as the model's memory is. Beams that a search has given up go on to be read
    until their places are needed; they may have broken any rule, and what is answered for them is of no account.
    """

    def read(self, tokens: Tensor) -> None:
        """Read one token a beam, int64 [sentences, beam]; bos is the first."""
        ...

    def allowed(self) -> Tensor:
        """What may follow, bool [sentences, beam, vocabulary]; at least one token for a beam that kept to it so far."""
        ...


AnyConstraint = TypeVar("AnyConstraint", bound=Constraint)


@dataclass(frozen=True)
class ConstrainedState(Generic[AnyState, AnyConstraint]):
    """What a model remembers, and what constrains its search."""

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
    """A step of the model after which only what the constraint allows is possible.

    What remains keeps the probability that the model gives it and is not scaled up to 1: a hypothesis scores what it
    would score without the constraint. So greedy search finds the same as without, wherever that keeps to the
    constraint, and so does a beam wide enough for every output where the best of them does. A narrower beam has room
    for hypotheses that others kept out; what it finds then may score more or less.
    """

    def masked(tokens: Tensor, state: ConstrainedState[AnyState, AnyConstraint]) -> tuple[Tensor, Tensor]:
        logits, normalizers = step(tokens, state.model)
        state.constraint.read(tokens)
        return logits.masked_fill_(~state.constraint.allowed(), -math.inf), normalizers

    return masked
