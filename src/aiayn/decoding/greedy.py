"""Greedy search: the likeliest token at every step."""

from collections.abc import Sequence

import torch
from torch import Tensor

from aiayn.decoding.candidates import best_continuations
from aiayn.decoding.step import Hypothesis, State, StepFunction, closed_up, hypothesis_from_path, longest_output


@torch.inference_mode()
def greedy_search(
    step: StepFunction[State],
    state: State,
    *,
    max_lengths: Tensor,
    bos_id: int,
    eos_id: int,
    forbidden_ids: Sequence[int],
) -> list[Hypothesis]:
    """Decode a batch; a sentence leaves it as soon as it is finished.

    Args:
        step: the model.
        state: its state before the first token, one beam a sentence; of no use afterwards.
        max_lengths: int64 [sentences], the most tokens to generate for each, eos included; on the model's device.
        bos_id: read at the first step.
        eos_id: ends a hypothesis.
        forbidden_ids: never generated, such as pad and bos.

    Returns:
        One hypothesis a sentence in the order of the input, scored by its plain log-probability. Equally likely
        tokens: the lower id is taken.
    """
    assert eos_id not in forbidden_ids, "a search that may not end"
    device = max_lengths.device
    forbidden = torch.tensor(list(forbidden_ids), dtype=torch.int64, device=device)
    results: dict[int, Hypothesis] = {}
    waiting = list(range(len(max_lengths)))  # the input position of each sentence still in the batch
    paths = torch.full((len(waiting), 1), bos_id, dtype=torch.int64, device=device)
    totals = torch.zeros(len(waiting), device=device)
    for length in range(1, longest_output(max_lengths) + 1):
        logits, normalizers = step(paths[:, -1:], state)
        logits.index_fill_(-1, forbidden, -torch.inf)
        best, _, tokens = best_continuations(totals.unsqueeze(1), logits, normalizers, 1)
        paths, totals, tokens = torch.cat([paths, tokens], dim=1), best.squeeze(1), tokens.squeeze(1)
        stopped = (tokens == eos_id) | (max_lengths == length) | (totals == -torch.inf)
        leaving = stopped.nonzero().squeeze(1)
        if not len(leaving):
            continue
        done = zip(leaving.tolist(), paths[leaving, 1:].tolist(), totals[leaving].tolist(), strict=True)
        for sentence, path, total in done:
            results[waiting[sentence]] = hypothesis_from_path(path, log_probability=total, score=total, eos_id=eos_id)
        staying = closed_up(stopped)
        if not len(staying):
            break
        waiting = [waiting[sentence] for sentence in staying.tolist()]
        paths, totals, max_lengths = paths[staying], totals[staying], max_lengths[staying]
        state.keep(staying)
    return [results[sentence] for sentence in sorted(results)]
