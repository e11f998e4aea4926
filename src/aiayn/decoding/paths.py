"""The outputs of a search as tensors."""

import math
from typing import NamedTuple, Self

import torch
import torch.nn.functional as F
from torch import Tensor

from aiayn.decoding.step import Hypothesis, hypothesis_from_path


class Paths(NamedTuple):
    """Equally many outputs of each sentence; a log-probability of -inf marks an empty place.

    All end in the same column; columns before a sentence's bos are undefined.
    """

    tokens: Tensor
    """int64 [sentences, paths, columns]."""
    log_probabilities: Tensor
    """float32 [sentences, paths]."""
    scores: Tensor
    """float32 [sentences, paths], log-probability / length penalty, as if the path ended here."""

    @classmethod
    def filled(cls, sentences: int, paths: int, *, token: int, log_probability: float, device: torch.device) -> Self:
        """Paths of one token."""
        tokens = torch.full((sentences, paths, 1), token, dtype=torch.int64, device=device)
        log_probabilities = torch.full((sentences, paths), log_probability, device=device)
        return cls(tokens, log_probabilities, log_probabilities)

    def keep(self, sentences: Tensor) -> Self:
        """Those of the sentences int64 [kept], in that order."""
        return type(self)(*(each[sentences] for each in self))

    def only(self, wanted: Tensor) -> Self:
        """Empty the places where `wanted`, bool [sentences, paths], is False."""
        log_probabilities, scores = (each.masked_fill(~wanted, -math.inf) for each in self[1:])
        return type(self)(self.tokens, log_probabilities, scores)

    def choose(self, paths: Tensor) -> Self:
        """The paths int64 [sentences, chosen] of each sentence, in that order."""
        return type(self)(gather_rows(self.tokens, paths), *(each.gather(1, paths) for each in self[1:]))

    def best(self, count: int) -> Self:
        """The paths of the highest scores of each sentence, best first; ties keep their order."""
        return self.choose(self.scores.sort(dim=1, descending=True, stable=True).indices[:, :count])

    def padded(self, token: int) -> Self:
        """One more column."""
        return self._replace(tokens=F.pad(self.tokens, (0, 1), value=token))

    def beside(self, other: Self) -> Self:
        """More paths of the same sentences, in as many columns."""
        return type(self)(*(torch.cat(both, dim=1) for both in zip(self, other, strict=True)))

    def above(self, other: Self) -> Self:
        """More sentences; missing paths become empty places, missing columns are undefined."""
        columns = max(self.tokens.shape[2], other.tokens.shape[2])
        paths = max(self.tokens.shape[1], other.tokens.shape[1])
        both = self.widened(paths, columns), other.widened(paths, columns)
        return type(self)(*map(torch.cat, zip(*both, strict=True)))

    def widened(self, paths: int, columns: int) -> Self:
        """Add empty places behind, and columns before."""
        more = paths - self.tokens.shape[1]
        log_probabilities, scores = (F.pad(each, (0, more), value=-math.inf) for each in self[1:])
        return type(self)(F.pad(self.tokens, (columns - self.tokens.shape[2], 0, 0, more)), log_probabilities, scores)

    def without(self, columns: int) -> Self:
        """All but the first columns."""
        return self._replace(tokens=self.tokens[:, :, columns:])

    def hypotheses(self, lengths: Tensor, *, eos_id: int, n_best: int) -> list[list[Hypothesis]]:
        """Each sentence's first paths as hypotheses, at most `n_best`; an empty place is listed only if all are empty.

        `lengths`, int64 [sentences], are the numbers of last columns that are the sentence's.
        """
        outputs = []
        columns = self.tokens.shape[2]
        for paths, log_probabilities, scores, length in zip(
            self.tokens.tolist(), self.log_probabilities.tolist(), self.scores.tolist(), lengths.tolist(), strict=True
        ):
            listed = [
                hypothesis_from_path(
                    path[columns - length :], log_probability=log_probability, score=score, eos_id=eos_id
                )
                for path, log_probability, score in zip(paths, log_probabilities, scores, strict=True)
            ]
            outputs.append([each for each in listed if each.score > -math.inf][:n_best] or listed[:1])
        return outputs


def gather_rows(values: Tensor, rows: Tensor) -> Tensor:
    """Rows int64 [sentences, chosen] of values [sentences, rows, width]."""
    return values.gather(1, rows.unsqueeze(-1).expand(-1, -1, values.size(-1)))
