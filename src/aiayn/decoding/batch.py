"""The sentences that are searched together."""

from dataclasses import dataclass
from typing import Generic, Self

import torch
from torch import Tensor

from aiayn.decoding.paths import Paths
from aiayn.decoding.step import AnyState, Hypothesis, closed_up


@dataclass
class Batch(Generic[AnyState]):
    """Sentences in the middle of their search, at different lengths. False if empty."""

    numbers: list[int]
    """The number of each sentence, by row."""
    state: AnyState
    """The model's, of their beams."""
    live: Paths
    """The beams."""
    finished: Paths
    """The best hypotheses that have ended."""
    lengths: Tensor
    """int64 [sentences], tokens generated so far."""
    max_lengths: Tensor
    """int64 [sentences], the most to generate."""
    penalties: Tensor
    """float32, the length penalty of every possible length, by length."""

    def __len__(self) -> int:
        return len(self.numbers)

    def join(self, other: Self) -> None:
        """Append the sentences of another batch, which must not be used afterwards."""
        beam = self.live.tokens.shape[1]
        other.state.reorder(torch.zeros(len(other), beam, dtype=torch.int64, device=self.lengths.device))
        self.state.join(other.state)
        unused = self.live.tokens.shape[2] - 1 - int(self.lengths.max())  # columns before the first bos
        self.live = self.live.without(unused).above(other.live)
        self.finished = self.finished.without(unused).above(other.finished)
        self.numbers = self.numbers + other.numbers
        self.lengths = torch.cat([self.lengths, other.lengths])
        self.max_lengths = torch.cat([self.max_lengths, other.max_lengths])
        self.penalties = max(self.penalties, other.penalties, key=len)

    def release(self, stopped: Tensor, *, eos_id: int, n_best: int) -> list[tuple[int, list[Hypothesis]]]:
        """Remove the sentences where bool [sentences] is True; their finished hypotheses, or else their live beams."""
        leaving, staying = stopped.nonzero().squeeze(1), closed_up(stopped)
        ended, cut = (
            paths.keep(leaving).hypotheses(self.lengths[leaving], eos_id=eos_id, n_best=n_best)
            for paths in (self.finished, self.live)
        )
        numbers = [self.numbers[row] for row in leaving.tolist()]
        self._keep(staying)
        best = [each if each[0].finished else unfinished for each, unfinished in zip(ended, cut, strict=True)]
        return list(zip(numbers, best, strict=True))

    def _keep(self, sentences: Tensor) -> None:
        self.state.keep(sentences)
        self.numbers = [self.numbers[row] for row in sentences.tolist()]
        self.live, self.finished = self.live.keep(sentences), self.finished.keep(sentences)
        self.lengths, self.max_lengths = self.lengths[sentences], self.max_lengths[sentences]
