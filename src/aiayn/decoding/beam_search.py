"""Batched beam search with a length penalty that stops as soon as nothing better can come (section 6.1)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import torch
import torch.nn.functional as F
from torch import Tensor

from aiayn.config.errors import UserError
from aiayn.decoding.candidates import best_continuations
from aiayn.decoding.length_penalty import length_penalty
from aiayn.decoding.step import Hypothesis, State, StepFunction, closed_up, hypothesis_from_path, longest_output


@torch.inference_mode()
def beam_search(
    step: StepFunction[State],
    state: State,
    *,
    max_lengths: Tensor,
    beam_size: int,
    length_penalty_alpha: float,
    bos_id: int,
    eos_id: int,
    forbidden_ids: Sequence[int],
    n_best: int = 1,
) -> list[list[Hypothesis]]:
    """Find for every sentence the outputs of the highest log-probability / length penalty.

    At each step the 2 * beam_size best continuations of a sentence's live beams are considered. Those that end in eos
    join its finished ones; the best beam_size of the others live on. A sentence leaves the batch when its length limit
    is reached, or when no live beam can still enter its n best: log-probabilities only fall and the penalty only grows,
    so a live beam ends no higher than its present log-probability over the penalty of the longest output.
    A single beam considers its best continuation alone, which makes it greedy search whatever the penalty.

    Args:
        step: the model.
        state: its state before the first token, one beam a sentence; of no use afterwards.
        max_lengths: int64 [sentences], the most tokens to generate for each, eos included; on the model's device.
        beam_size: live beams a sentence; may exceed the vocabulary.
        length_penalty_alpha: from 0 to 10, see `length_penalty`.
        bos_id: read at the first step.
        eos_id: ends a hypothesis.
        forbidden_ids: never generated, such as pad and bos.
        n_best: the most hypotheses to return a sentence, from 1 to beam_size.

    Returns:
        One list a sentence in the order of the input, best first, of 1 to n_best finished hypotheses; of unfinished
        ones where none ended within the limit. Among equals the shorter, then the one with the better parent beam,
        then the lower token id comes first.

    Raises:
        UserError: a setting is out of its range.
    """
    _check_settings(beam_size, length_penalty_alpha, n_best)
    assert eos_id not in forbidden_ids, "a search that may not end"
    device, longest = max_lengths.device, longest_output(max_lengths)
    forbidden = torch.tensor(list(forbidden_ids), dtype=torch.int64, device=device)
    lengths = range(longest + 1)
    penalties = torch.tensor([length_penalty(n, alpha=length_penalty_alpha) for n in lengths], device=device)
    results: dict[int, list[Hypothesis]] = {}
    waiting = list(range(len(max_lengths)))  # the input position of each sentence still in the batch
    live = _Paths.filled(len(waiting), 1, token=bos_id, log_probability=0.0, device=device)
    finished = _Paths.filled(len(waiting), n_best, token=eos_id, log_probability=-math.inf, device=device)
    for length in lengths[1:]:
        logits, normalizers = step(live.tokens[..., -1], state)
        logits.index_fill_(-1, forbidden, -math.inf)
        live, finished, parents = _advance(
            live, finished, logits, normalizers, penalty=penalties[length], beam_size=beam_size, eos_id=eos_id
        )
        bounds = live.log_probabilities[:, 0] / penalties[max_lengths]
        stopped = (bounds <= finished.scores[:, -1]) | (max_lengths == length)
        leaving = stopped.nonzero().squeeze(1)
        if len(leaving):
            outputs = _hypotheses(finished.keep(leaving), live.keep(leaving), eos_id=eos_id, n_best=n_best)
            results.update(zip((waiting[sentence] for sentence in leaving.tolist()), outputs, strict=True))
            staying = closed_up(stopped)
            if not len(staying):
                break
            waiting = [waiting[sentence] for sentence in staying.tolist()]
            live, finished = live.keep(staying), finished.keep(staying)
            parents, max_lengths = parents[staying], max_lengths[staying]
            state.keep(staying)
        state.reorder(parents)
    return [results[sentence] for sentence in sorted(results)]


def _check_settings(beam_size: int, length_penalty_alpha: float, n_best: int) -> None:
    if beam_size < 1:
        raise UserError(f"decoding.beam_size={beam_size}: must be at least 1 (1 is greedy search)")
    if not 1 <= n_best <= beam_size:
        raise UserError(f"decoding.n_best={n_best}: must be from 1 to decoding.beam_size={beam_size}")
    if not 0 <= length_penalty_alpha <= 10:  # far above 10 the penalty of a long output overflows
        raise UserError(f"decoding.length_penalty_alpha={length_penalty_alpha}: must be from 0 to 10 (the paper: 0.6)")


@dataclass(frozen=True)
class _Paths:
    """Outputs side by side; a log-probability of -inf marks an empty place."""

    tokens: Tensor
    """int64 [sentences, paths, 1 + length], the first one bos."""
    log_probabilities: Tensor
    """float32 [sentences, paths]."""
    scores: Tensor
    """float32 [sentences, paths], log-probability / length penalty, as if the path ended here."""

    @classmethod
    def filled(cls, sentences: int, paths: int, *, token: int, log_probability: float, device: torch.device) -> Self:
        tokens = torch.full((sentences, paths, 1), token, dtype=torch.int64, device=device)
        log_probabilities = torch.full((sentences, paths), log_probability, device=device)
        return cls(tokens, log_probabilities, log_probabilities)

    def keep(self, sentences: Tensor) -> Self:
        return type(self)(self.tokens[sentences], self.log_probabilities[sentences], self.scores[sentences])

    def only(self, wanted: Tensor) -> Self:
        """Empty the places where `wanted`, bool [sentences, paths], is False."""
        log_probabilities = self.log_probabilities.masked_fill(~wanted, -math.inf)
        return type(self)(self.tokens, log_probabilities, self.scores.masked_fill(~wanted, -math.inf))

    def choose(self, paths: Tensor) -> Self:
        """Of each sentence the paths int64 [sentences, chosen], in that order."""
        log_probabilities, scores = self.log_probabilities.gather(1, paths), self.scores.gather(1, paths)
        return type(self)(_gather_rows(self.tokens, paths), log_probabilities, scores)

    def best(self, count: int) -> Self:
        return self.choose(self.scores.sort(dim=1, descending=True, stable=True).indices[:, :count])

    def padded(self, token: int) -> Self:
        return type(self)(F.pad(self.tokens, (0, 1), value=token), self.log_probabilities, self.scores)

    def joined(self, other: Self) -> Self:
        return type(self)(
            torch.cat([self.tokens, other.tokens], dim=1),
            torch.cat([self.log_probabilities, other.log_probabilities], dim=1),
            torch.cat([self.scores, other.scores], dim=1),
        )


def _gather_rows(values: Tensor, rows: Tensor) -> Tensor:
    """Rows int64 [sentences, chosen] of values [sentences, rows, width]."""
    return values.gather(1, rows.unsqueeze(-1).expand(-1, -1, values.size(-1)))


def _advance(
    live: _Paths,
    finished: _Paths,
    logits: Tensor,
    normalizers: Tensor,
    *,
    penalty: Tensor,
    beam_size: int,
    eos_id: int,
) -> tuple[_Paths, _Paths, Tensor]:
    """One step: the live beams, the finished hypotheses and the parent beam int64 [sentences, beam] of each live one.

    Args:
        live: the beams before the step.
        finished: the best finished hypotheses before the step, as many places as will be returned.
        logits: see `StepFunction`.
        normalizers: see `StepFunction`.
        penalty: length penalty of an output that ends with this step, float32 [].
        beam_size: the most beams to live on.
        eos_id: ends a hypothesis.
    """
    considered = 2 * beam_size if beam_size > 1 else 1
    totals, parents, tokens = best_continuations(live.log_probabilities, logits, normalizers, considered)
    extended = torch.cat([_gather_rows(live.tokens, parents), tokens.unsqueeze(-1)], dim=-1)
    candidates = _Paths(extended, totals, totals / penalty)
    ended = tokens == eos_id
    finished = finished.padded(eos_id).joined(candidates.only(ended)).best(finished.scores.size(1))
    first_open = ended.byte().sort(dim=1, stable=True).indices[:, :beam_size]
    return candidates.only(~ended).choose(first_open), finished, parents.gather(1, first_open)


def _hypotheses(finished: _Paths, live: _Paths, *, eos_id: int, n_best: int) -> list[list[Hypothesis]]:
    """The finished hypotheses of each sentence, or its live beams where nothing has finished."""
    return [
        ended if ended[0].finished else cut
        for ended, cut in zip(_listed(finished, eos_id, n_best), _listed(live, eos_id, n_best), strict=True)
    ]


def _listed(paths: _Paths, eos_id: int, n_best: int) -> list[list[Hypothesis]]:
    """Each sentence's best paths as hypotheses; an empty place is listed only where all are empty."""
    outputs = []
    for rows in zip(paths.tokens.tolist(), paths.log_probabilities.tolist(), paths.scores.tolist(), strict=True):
        listed = [
            hypothesis_from_path(path[1:], log_probability=log_probability, score=score, eos_id=eos_id)
            for path, log_probability, score in zip(*rows, strict=True)
        ]
        outputs.append([each for each in listed if each.score > -math.inf][:n_best] or listed[:1])
    return outputs
