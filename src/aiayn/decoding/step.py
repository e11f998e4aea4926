"""The interface between searches and models: a step function and a state, and no model.

The step maps the tokens of each beam to logits and their normalisers; `training.scoring` joins it to a model. Finished
sentences leave the batch. On a GPU others enter in their place; on a CPU making space costs more than it saves. A
constraint (`decoding.constraint`) wraps the step and sets forbidden logits to -inf, without renormalising.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, Self, TypeAlias, TypeVar

import torch
from torch import Tensor

from aiayn.errors import RunFailedError


class DecodingState(Protocol):
    """The model's memory for each beam of each sentence in the batch; a search changes it in place."""

    def reorder(self, beams: Tensor) -> None:
        """Let new beam `j` of sentence `i` continue old beam `beams[i, j]`, int64 [sentences, new_beam]."""
        ...

    def keep(self, sentences: Tensor) -> None:
        """Keep only these sentences, int64 [kept], each at most once, in this order."""
        ...

    def join(self, other: Self) -> None:
        """Append the sentences of another state with as many beams, which may have read fewer tokens."""
        ...


AnyState = TypeVar("AnyState", bound=DecodingState)

StepFunction: TypeAlias = Callable[[Tensor, AnyState], tuple[Tensor, Tensor]]
"""One step of a model: reads one token per beam and changes the state to that after it.

The tokens are int64 [sentences, beam]; bos at the first step, where every sentence has one beam. Returns logits of the
next token, float [sentences, beam, vocabulary], which the search may overwrite; and normalizers, float32 [sentences,
beam], which are subtracted from the few logits that a search needs as log-probabilities.
"""

Supply: TypeAlias = Callable[[Sequence[int]], tuple[AnyState, Tensor] | None]
"""The source of sentences of a search: begins more of them, or returns None while there is no room.

Called with the numbers of the sentences in the batch, counted from 0; if there are none, None ends the search. Returns
a state before the first token, one beam per sentence, and int64 [sentences], the most tokens to generate, eos included.
"""


@dataclass(frozen=True)
class Hypothesis:
    """One output of a search."""

    tokens: tuple[int, ...]
    """Token ids without bos and eos."""
    log_probability: float
    """Sum over the generated tokens in nats, eos included if finished."""
    score: float
    """The log-probability, divided by the length penalty if there is one."""
    finished: bool
    """False: cut at its length limit."""

    @property
    def length(self) -> int:
        """Tokens generated, eos included if finished."""
        return len(self.tokens) + self.finished


def hypothesis_from_path(path: Sequence[int], *, log_probability: float, score: float, eos_id: int) -> Hypothesis:
    """The hypothesis of a path, the tokens generated after bos, up to the first eos.

    A log-probability of -inf means that no continuation was possible: the hypothesis is empty.
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
    """The rows int64 [kept] where bool [rows] is False; the last of them replace those that go."""
    staying = (~stopped).nonzero().squeeze(1)
    order = torch.arange(len(staying), device=stopped.device)
    order[stopped[: len(staying)]] = staying[staying >= len(staying)]
    return order


def longest_output(max_lengths: Tensor) -> int:
    """The largest of the limits int64 [sentences]; 0 for an empty batch."""
    limits = max_lengths.tolist()
    assert min(limits, default=1) >= 1, "every sentence needs room for eos"
    return max(limits, default=0)
