"""What the searches ask of a model, and what they give back."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, Self, TypeVar

import torch
from torch import Tensor

from aiayn.errors import RunFailedError, UserError


class DecodingState(Protocol):
    """What a model remembers between two steps: one memory for each beam of each sentence in the batch.

    It belongs to one search, which changes it in place.
    """

    def reorder(self, beams: Tensor) -> None:
        """Let new beam `j` of sentence `i` continue old beam `beams[i, j]` of the same sentence.

        Args:
            beams: int64 [sentences, new_beam]; new_beam may differ from the number of old beams.
        """
        ...

    def keep(self, sentences: Tensor) -> None:
        """Keep only these sentences, in this order.

        Args:
            sentences: int64 [kept], rows of the present batch, each at most once.
        """
        ...

    def join(self, other: Self) -> None:
        """Take in the sentences of another state, behind those that are here.

        Args:
            other: has as many beams a sentence, and may have read fewer tokens; of no use afterwards.
        """
        ...


State = TypeVar("State", bound=DecodingState, contravariant=True)
BegunState = TypeVar("BegunState", bound=DecodingState, covariant=True)
AnyState = TypeVar("AnyState", bound=DecodingState)


class StepFunction(Protocol[State]):
    """One step of a model: the last token of each beam in, logits of the next one out, and what normalizes them."""

    def __call__(self, tokens: Tensor, state: State, /) -> tuple[Tensor, Tensor]:
        """Read one token per beam.

        Args:
            tokens: int64 [sentences, beam]; bos at the first step, where every sentence has one beam.
            state: the model's first state, or what this function made of it; becomes the state after `tokens`.

        Returns:
            Logits of the next token, float [sentences, beam, vocabulary], in a tensor of their own that the search may
            overwrite; and normalizers, float32 [sentences, beam], which make them log-probabilities when subtracted.
            Few tokens are ever looked at, so that subtracting from all would be in vain.
        """
        ...


class Supply(Protocol[BegunState]):
    """Where a search that goes on gets its sentences from."""

    def __call__(self, present: Sequence[int], /) -> tuple[BegunState, Tensor] | None:
        """Begin more sentences, or none as long as there is no room for them.

        Args:
            present: those that are searched now, by number: the first that was ever begun is 0. Where there are none
                something has to be begun, or the search is over.

        Returns:
            A state before the first token, one beam a sentence; and int64 [sentences], the most tokens to generate for
            each, eos included.
        """
        ...


@dataclass(frozen=True)
class Hypothesis:
    """One output of a search."""

    tokens: tuple[int, ...]
    """Token ids without bos and eos."""
    log_probability: float
    """Sum over the generated tokens in nats, eos included where the hypothesis is finished."""
    score: float
    """What hypotheses are ranked by: the log-probability, divided by the length penalty where there is one."""
    finished: bool
    """True: ends in eos. False: was cut at its length limit."""

    @property
    def length(self) -> int:
        """Tokens generated, eos included where the hypothesis is finished; what the length penalty is of."""
        return len(self.tokens) + self.finished


def hypothesis_from_path(path: Sequence[int], *, log_probability: float, score: float, eos_id: int) -> Hypothesis:
    """Make a hypothesis of a path, the tokens generated after bos; what follows the first eos does not count.

    A log-probability of -inf means that the model allowed no continuation at all: nothing of the path is shown then.
    """
    if math.isnan(log_probability):
        msg = "decoding: the model's log-probabilities are not numbers (nan); it diverged in training or overflows here"
        raise RunFailedError(msg)
    if log_probability == -math.inf:
        return Hypothesis(tokens=(), log_probability=-math.inf, score=-math.inf, finished=False)
    finished = eos_id in path
    tokens = path[: path.index(eos_id)] if finished else path
    return Hypothesis(tuple(tokens), log_probability, score, finished)


def closed_up(stopped: Tensor) -> Tensor:
    """The rows int64 [kept] where bool [rows] is False, with the last of them in the places of those that go."""
    staying = (~stopped).nonzero().squeeze(1)
    order = torch.arange(len(staying), device=stopped.device)
    order[stopped[: len(staying)]] = staying[staying >= len(staying)]
    return order


def longest_output(max_lengths: Tensor) -> int:
    """The largest of the limits int64 [sentences]; 0 for an empty batch. A limit below 1 is a UserError."""
    limits = max_lengths.tolist()
    if min(limits, default=1) < 1:
        raise UserError(f"decoding: length limit {min(limits)}: every sentence needs room for at least 1 token, eos")
    return max(limits, default=0)
