"""Small language models whose every probability is known, to search in."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Self

import pytest
import torch
from torch import Tensor

BOS, EOS = 1, 2


@dataclass
class ToyState:
    """Which sentence and which prefix, as hashes."""

    sentences: Tensor  # int64 [sentences]
    prefixes: Tensor  # int64 [sentences, beam]

    def reorder(self, beams: Tensor) -> None:
        self.prefixes = self.prefixes.gather(1, beams)

    def keep(self, sentences: Tensor) -> None:
        assert len(set(sentences.tolist())) == len(sentences)
        self.sentences, self.prefixes = self.sentences[sentences], self.prefixes[sentences]

    def join(self, other: Self) -> None:
        assert self.prefixes.shape[1] == other.prefixes.shape[1]
        self.sentences = torch.cat([self.sentences, other.sentences])
        self.prefixes = torch.cat([self.prefixes, other.prefixes])


def scrambled(values: Tensor) -> Tensor:
    """A fixed random-looking function of int64 to int64."""
    for factor in (-7046029254386353131, -4658895280553007687):
        values = (values ^ (values >> 29)) * factor
    return values ^ (values >> 32)


@dataclass
class ToyLanguage:
    """A random table of log-probabilities for every (sentence, whole prefix).

    The search sees logits: each beam's are lifted by a whole number, its normalizer, which sums and ties outlast.
    `levels` rounds them to so many values (exact in binary, so that sums tie exactly); `dead` is the share of -inf.
    """

    seed: int
    vocabulary: int
    levels: int = 0
    dead: float = 0.0
    batches: list[int] = field(default_factory=list)

    def begin(self, sentences: Sequence[int]) -> ToyState:
        keys = scrambled(torch.tensor(list(sentences), dtype=torch.int64) * 1009 + self.seed)
        return ToyState(keys, keys.unsqueeze(1))

    def step(self, tokens: Tensor, state: ToyState) -> tuple[Tensor, Tensor]:
        assert tokens.shape == state.prefixes.shape
        self.batches.append(len(tokens))
        state.prefixes = scrambled(state.prefixes * 31 + tokens + 1)
        bits = scrambled(state.prefixes.unsqueeze(-1) + torch.arange(self.vocabulary))
        uniform = (bits & 0xFFFFFF).float() / 0x1000000
        if self.levels:
            log_probabilities = -((uniform * self.levels).floor() + 1) / 4
        else:
            log_probabilities = (4 * uniform).log_softmax(dim=-1)
        is_dead = ((bits >> 24) & 0xFFFF).float() / 0x10000 < self.dead
        log_probabilities = log_probabilities.masked_fill(is_dead, -torch.inf)
        normalizers = (state.prefixes & 7).float()
        return log_probabilities + normalizers.unsqueeze(-1), normalizers

    def log_probabilities(self, sentence: int, prefix: Sequence[int]) -> list[float]:
        """Of each token after bos and this prefix, one step at a time and without any search."""
        state, logits, normalizers = self.begin([sentence]), torch.empty(0), torch.empty(0)
        for token in (BOS, *prefix):
            logits, normalizers = self.step(torch.tensor([[token]]), state)
        return [float(value) for value in logits[0, 0] - normalizers[0, 0]]

    def total(self, sentence: int, generated: Sequence[int]) -> float:
        """The log-probability of these tokens after bos."""
        return sum(
            self.log_probabilities(sentence, generated[:length])[token] for length, token in enumerate(generated)
        )


@pytest.fixture(scope="session")
def toy() -> type[ToyLanguage]:
    return ToyLanguage
