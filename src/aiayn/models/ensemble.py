"""Several models that predict as one."""

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Self, cast

import torch
from torch import Tensor, nn

from aiayn.flat_tokens import FlatTokens
from aiayn.models.translation_model import TranslationModel


class EnsembleState:
    """The state of each model for the same beams; a search changes it in place."""

    def __init__(self, members: Sequence[Any]) -> None:
        self.members = members

    def reorder(self, beams: Tensor) -> None:
        """Let new beam `j` of sentence `i` continue old beam `beams[i, j]`, int64 `[sentences, new_beam]`."""
        for member in self.members:
            member.reorder(beams)

    def keep(self, sentences: Tensor) -> None:
        """Keep only these sentences, int64 `[kept]`, each at most once, in this order."""
        for member in self.members:
            member.keep(sentences)

    def join(self, other: Self) -> None:
        """Append the sentences of another state of the same models."""
        for member, arriving in zip(self.members, other.members, strict=True):
            member.join(arriving)


class Ensemble(nn.Module):
    """Models of one vocabulary, of any kinds and sizes, whose probabilities of the next token are averaged.

    They can be searched, and likelihoods follow from theirs (`log_mean`); there is no output layer. A model that is
    given twice weighs twice.
    """

    def __init__(self, models: Sequence[TranslationModel[Any]]) -> None:
        super().__init__()
        assert models, "an ensemble of none"
        self.members = nn.ModuleList(models)

    def __iter__(self) -> Iterator[TranslationModel[Any]]:
        return iter(cast("Iterable[TranslationModel[Any]]", self.members))

    @property
    def vocabulary_size(self) -> int:
        """Rows that all models have."""
        return min(model.vocabulary_size for model in self)

    @property
    def target_start(self) -> str:
        """The decoder's first input, the same in all models."""
        (token,) = {model.target_start for model in self}
        return token

    @property
    def max_length(self) -> int | None:
        """The most tokens of a source or a target, end mark included; None: any number."""
        return min((model.max_length for model in self if model.max_length is not None), default=None)

    def begin(self, source: FlatTokens) -> EnsembleState:
        """Encode the sources; each has one beam that has read nothing yet."""
        return EnsembleState([model.begin(source) for model in self])

    def step(self, tokens: Tensor, state: EnsembleState) -> tuple[Tensor, Tensor]:
        """As `TranslationModel.step`, with normalizers of 0."""
        known = self.vocabulary_size
        total = log_mean(
            (logits.float() - normalizers.unsqueeze(-1))[..., :known]
            for logits, normalizers in (
                model.step(tokens, member) for model, member in zip(self, state.members, strict=True)
            )
        )
        return total, total.new_zeros(tokens.shape)


def log_mean(log_probabilities: Iterable[Tensor]) -> Tensor:
    """The logarithm of the mean of probabilities, given by their logarithms of one shape."""
    count, total = 0, torch.empty(0)
    for each in log_probabilities:
        total = torch.logaddexp(total, each) if count else each
        count += 1
    return total - math.log(count)
