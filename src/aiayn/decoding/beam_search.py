"""Batched beam search with a length penalty and early stopping (section 6.1)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import torch
from torch import Tensor

from aiayn.decoding.batch import Batch
from aiayn.decoding.candidates import best_continuations
from aiayn.decoding.length_penalty import LengthPenalty, length_penalty
from aiayn.decoding.paths import Paths, gather_rows
from aiayn.decoding.step import AnyState, Hypothesis, StepFunction, Supply, longest_output

EosWithin: TypeAlias = Literal["candidates", "beam"]


@dataclass(frozen=True, kw_only=True)
class BeamSearch:
    """Finds for every sentence the outputs of the highest log-probability / length penalty.

    At each step the 2 * beam_size best continuations of a sentence's live beams are considered. Those that end in eos
    join its finished ones; the best beam_size of the others live on. A sentence is done when its length limit is
    reached, or when no live beam can still enter its n best: log-probabilities only fall and the penalty only grows, so
    a live beam ends no higher than its present log-probability over the penalty of the longest output. A single beam
    considers its best continuation alone: greedy search, whatever the penalty.
    """

    beam_size: int
    """Live beams per sentence; may exceed the vocabulary."""
    length_penalty_alpha: float
    """From 0 to 10."""
    start_id: int
    """The first input of every output: bos, or another token that the model was trained with."""
    eos_id: int
    forbidden_ids: Sequence[int]
    """Never generated, such as pad and bos."""
    n_best: int = 1
    """Most hypotheses per sentence, from 1 to beam_size."""
    length_penalty: LengthPenalty = "gnmt"
    """Formula of the length penalty; see `aiayn.decoding.length_penalty`."""
    eos_within: EosWithin = "candidates"
    """The continuations that may end: all considered ones, or the first beam_size alone."""
    of_each_length: bool = False
    """Return the best finished hypothesis of each length instead of the n best.

    Which beams live on does not depend on alpha, since those of a sentence are equally long. Alpha ranks finished ones
    and decides when the rest cannot win any more, which a larger one decides later. So these include the result of any
    smaller alpha; see `aiayn.decoding.reranking`."""

    def __post_init__(self) -> None:
        assert self.beam_size >= 1, f"{self.beam_size} beams"
        assert 1 <= self.n_best <= self.beam_size, f"the {self.n_best} best of {self.beam_size} beams"
        alpha = self.length_penalty_alpha
        assert 0 <= alpha <= 10, f"alpha {alpha}"  # far above 10 the penalty of a long output overflows
        assert self.eos_id not in self.forbidden_ids, "a search that may not end"
        assert self.n_best == 1 or not self.of_each_length, "either so many, or one of each length"

    def batch(self, step: StepFunction[AnyState], state: AnyState, max_lengths: Tensor) -> list[list[Hypothesis]]:
        """Search for one batch of sentences.

        Args:
            step: of the model.
            state: before the first token, one beam per sentence; not to be used afterwards.
            max_lengths: int64 [sentences], the most tokens to generate, eos included.

        Returns:
            For each sentence 1 to n_best finished hypotheses, best first, or one of each length; unfinished ones if
            none ended within the limit. Ties go to the shorter hypothesis, then the better parent beam, then the lower
            token id.
        """
        once = iter([(state, max_lengths)])
        found = dict(self.stream(step, lambda _: next(once, None)))
        return [found[number] for number in range(len(max_lengths))]

    @torch.inference_mode()
    def stream(self, step: StepFunction[AnyState], supply: Supply[AnyState]) -> Iterator[tuple[int, list[Hypothesis]]]:
        """Search for any number of sentences, in a batch that others enter when some have left.

        `supply` is asked for sentences at first, and whenever some have left. Yields each sentence's number and
        hypotheses, as `batch` has them.
        """
        batch: Batch[AnyState] | None = None
        count, forbidden = 0, None
        while True:
            begun = supply(batch.numbers if batch else [])
            if begun is not None:
                arriving = self._begin(count, *begun)
                count += len(arriving)
                if batch:
                    batch.join(arriving)
                else:
                    batch = arriving
            if not batch:
                return
            if forbidden is None:  # copied to the device once: a copy at each step would wait for the device
                forbidden = torch.tensor(self.forbidden_ids, dtype=torch.int64, device=batch.lengths.device)
            stopped = self._advance(step, batch, forbidden)
            while not stopped.any():
                stopped = self._advance(step, batch, forbidden)
            most = batch.finished.tokens.shape[1] if self.of_each_length else self.n_best
            yield from batch.release(stopped, eos_id=self.eos_id, n_best=most)

    def _begin(self, first: int, state: AnyState, max_lengths: Tensor) -> Batch[AnyState]:
        """Sentences before their first token, numbered from `first`, one beam each; eos fills unused places."""
        sentences, device = len(max_lengths), max_lengths.device
        penalties = [
            length_penalty(length, alpha=self.length_penalty_alpha, kind=self.length_penalty)
            for length in range(longest_output(max_lengths) + 1)
        ]
        return Batch(
            numbers=list(range(first, first + sentences)),
            state=state,
            live=Paths.filled(sentences, 1, token=self.start_id, log_probability=0.0, device=device),
            finished=Paths.filled(sentences, self.n_best, token=self.eos_id, log_probability=-torch.inf, device=device),
            lengths=torch.zeros_like(max_lengths),
            max_lengths=max_lengths,
            penalties=torch.tensor(penalties, dtype=torch.float32, device=device),
        )

    def _advance(self, step: StepFunction[AnyState], batch: Batch[AnyState], forbidden: Tensor) -> Tensor:
        """Take one step; which sentences are done, bool [sentences]."""
        logits, normalizers = step(batch.live.tokens[..., -1], batch.state)
        logits.index_fill_(-1, forbidden, -torch.inf)
        batch.lengths = batch.lengths + 1
        candidates, parents = self._candidates(batch, logits, normalizers)
        ended = candidates.tokens[..., -1] == self.eos_id
        first_open = ended.byte().sort(dim=1, stable=True).indices[:, : self.beam_size]
        batch.live = candidates.only(~ended).choose(first_open)
        batch.state.reorder(parents.gather(1, first_open))
        if self.eos_within == "beam":
            ended[:, self.beam_size :] = False
        batch.finished = self._remembered(batch.finished.padded(self.eos_id), candidates.only(ended))
        to_beat = batch.finished.scores[:, 0 if self.of_each_length else -1]
        bounds = batch.live.log_probabilities[:, 0] / batch.penalties[batch.max_lengths]
        return (bounds <= to_beat) | (batch.lengths == batch.max_lengths)

    def _remembered(self, earlier: Paths, ended: Paths) -> Paths:
        """The finished hypotheses that may be returned, best first."""
        if not self.of_each_length:
            return earlier.beside(ended).best(self.n_best)
        paths = earlier.beside(ended.best(1))  # all that end at a step are equally long
        places = int((paths.scores > -torch.inf).sum(dim=1).max())
        return paths.best(max(1, places))

    def _candidates(self, batch: Batch[AnyState], logits: Tensor, normalizers: Tensor) -> tuple[Paths, Tensor]:
        """The best continuations of each sentence, best first, and their beams, int64 [sentences, paths]."""
        live, penalty = batch.live, batch.penalties[batch.lengths].unsqueeze(1)
        considered = 2 * self.beam_size if self.beam_size > 1 else 1
        totals, parents, tokens = best_continuations(live.log_probabilities, logits, normalizers, considered)
        extended = torch.cat([gather_rows(live.tokens, parents), tokens.unsqueeze(-1)], dim=-1)
        return Paths(extended, totals, totals / penalty), parents
