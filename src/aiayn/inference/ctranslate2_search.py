"""The run's search done by CTranslate2: its own beams, ranked by our length penalty and held to our limits.

Its live beams are those of our own search, which differs in three things: it leaves pad and bos out after the softmax
and not before; unless `ends_among` is beam, it takes up whichever of a step's 2 * beam_size continuations has ended,
and not those of the first beam_size alone; and with a length penalty it stops where no live beam can win, not at a
count of ended hypotheses.
And CTranslate2 translates an empty source by nothing at all.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aiayn.config.schema import BeamSearchConfig
from aiayn.data.batches.batching import evaluation_batches
from aiayn.data.batches.sentences import Sentences
from aiayn.data.vocabulary import AnyTokenizer
from aiayn.decoding.length_penalty import length_penalty
from aiayn.decoding.step import Hypothesis, hypothesis_from_path
from aiayn.errors import UserError
from aiayn.training.process_group import ALONE, ProcessGroup

PATIENCE = 2
"""With a length penalty CTranslate2 stops at this many times beam_size finished hypotheses; they are what we rank."""


@dataclass(frozen=True)
class Positions:
    """How far an exported model reaches."""

    end: int
    """Tokens that its table of positions has a row for."""
    are_all: bool
    """Whether the model itself ends there, as with learned positions; sinusoids go on."""


class CTranslate2Search:
    """A search over an exported model that gives what `search_all` gives over the model itself.

    Args:
        translator: a `ctranslate2.Translator` of the export.
        tokenizer: of the run.
        search: beam size and the rest.
        positions: of the export.
    """

    def __init__(
        self, translator: Any, tokenizer: AnyTokenizer, search: BeamSearchConfig, *, positions: Positions
    ) -> None:
        self._translator, self._tokenizer = translator, tokenizer
        self._search, self._positions = search, positions
        self._pieces = tokenizer.pieces
        self._ids = {piece: number for number, piece in enumerate(self._pieces)}

    def __call__(
        self,
        sources: Sentences,
        *,
        n_best: int = 1,
        advance: Callable[[int], object] = lambda _: None,
        group: ProcessGroup = ALONE,
    ) -> list[list[Hypothesis]]:
        """Decode source sentences in batches of similar length; arguments and results as in `search_all`.

        Raises:
            UserError: a source, or an output as long as it may be, is longer than the exported positions reach.
        """
        lengths = sources.lengths
        limits = self._limits(lengths.astype(np.int64))
        batches = evaluation_batches(lengths, lengths, tokens=self._search.batch_tokens)
        own: list[tuple[NDArray[np.int64], list[list[Hypothesis]]]] = []
        for start in range(0, len(batches), group.size):
            together = batches[start : start + group.size]
            if group.rank < len(together):
                indices = together[group.rank]
                batch = [self._written(sources, int(index)) for index in indices]
                own.append((indices, self._found(batch, limits[indices].tolist(), n_best)))
            advance(sum(map(len, together)))
        found: list[list[Hypothesis]] = [[]] * len(lengths)
        for indices, hypotheses in chain.from_iterable(group.gather(own)):
            for index, each in zip(indices, hypotheses, strict=True):
                found[index] = each
        return found

    def _limits(self, lengths: NDArray[np.int64]) -> NDArray[np.int64]:
        """The most tokens of each output, end mark included."""
        limits = lengths + self._search.max_extra_length
        longest, end = max(limits.max(initial=0), lengths.max(initial=0)), self._positions.end
        if self._positions.are_all:
            return np.minimum(limits, end)
        if longest > end:
            raise UserError(
                f"decoding.max_extra_length={self._search.max_extra_length}: {longest} tokens are more than the {end}"
                " positions of an exported model: lower it, shorten the input or take engine=torch"
            )
        return limits

    def _written(self, sources: Sentences, index: int) -> list[str]:
        """A source as CTranslate2 reads it: the pieces themselves, end mark included."""
        tokens = sources.tokens[sources.offsets[index] : sources.offsets[index + 1]]
        return [self._pieces[token] for token in tokens.tolist()]

    def _found(self, batch: Sequence[list[str]], limits: Sequence[int], n_best: int) -> list[list[Hypothesis]]:
        """The hypotheses of each sentence, none longer than its limit.

        A call of CTranslate2 has one limit. A sentence that found no end within its own is searched once more, among
        those of the same limit, and all its hypotheses are asked for: the ended ones count before the others.
        """
        hurried = self._search.length_penalty_alpha == 0 and n_best == 1  # the likeliest to end is the best
        pool = 1 if hurried else self._search.beam_size * PATIENCE
        results = [
            self._ranked([each for each in found if each.finished and len(each.tokens) < limit], n_best)
            for found, limit in zip(self._translated(batch, max(limits), pool), limits, strict=True)
        ]
        again = defaultdict(list)
        for sentence, (result, limit) in enumerate(zip(results, limits, strict=True)):
            if not result:
                again[limit].append(sentence)
        for limit, sentences in again.items():
            everything = self._search.beam_size * (limit + 1)
            outputs = self._translated([batch[sentence] for sentence in sentences], limit, everything)
            for sentence, found in zip(sentences, outputs, strict=True):
                results[sentence] = self._ranked([each for each in found if each.finished] or found, n_best)
        return results

    def _translated(self, batch: Sequence[list[str]], limit: int, pool: int) -> list[list[Hypothesis]]:
        """What CTranslate2 finds for each sentence: at most `pool` hypotheses of at most `limit` tokens."""
        beam_size, alpha = self._search.beam_size, self._search.length_penalty_alpha
        if beam_size == 1:  # greedy search has no other
            pool, alpha = 1, 0.0
        outputs = self._translator.translate_batch(
            batch,
            beam_size=beam_size,
            num_hypotheses=pool,
            patience=max(1.0, pool / beam_size),
            length_penalty=alpha,
            max_decoding_length=limit,
            min_decoding_length=0,
            max_input_length=0,
            return_scores=True,
            return_end_token=True,
        )
        return [
            [self._hypothesis(pieces, score * len(pieces) ** alpha) for pieces, score in zip(*each, strict=True)]
            for each in ((output.hypotheses, output.scores) for output in outputs)
        ]

    def _hypothesis(self, pieces: Sequence[str], log_probability: float) -> Hypothesis:
        penalty = length_penalty(len(pieces), alpha=self._search.length_penalty_alpha)
        return hypothesis_from_path(
            [self._ids[piece] for piece in pieces],
            log_probability=log_probability,
            score=log_probability / penalty,
            eos_id=self._tokenizer.eos_id,
        )

    @staticmethod
    def _ranked(hypotheses: Sequence[Hypothesis], n_best: int) -> list[Hypothesis]:
        """The best ones; among equals the shorter comes first, as in our own search."""
        return sorted(hypotheses, key=lambda each: (-each.score, len(each.tokens)))[:n_best]
