"""What a trained model makes of sentences: likelihoods and translations. Plain torch; nothing here trains."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from aiayn.data.batching import evaluation_batches
from aiayn.data.collation import padded
from aiayn.data.sentences import SentencePairs, Sentences
from aiayn.data.tokenizer import SubwordTokenizer
from aiayn.decoding.beam_search import beam_search
from aiayn.decoding.step import Hypothesis
from aiayn.models.products import packed
from aiayn.models.transformer import Transformer
from aiayn.training.data_module import EvaluationStream
from aiayn.training.loss import token_likelihoods
from aiayn.training.process_group import ALONE, ProcessGroup


@dataclass(frozen=True)
class Search:
    """The settings of the search (section 6.1)."""

    beam_size: int
    length_penalty_alpha: float
    max_extra_length: int
    batch_tokens: int


@torch.inference_mode()
def sentence_likelihoods(
    model: Transformer,
    pairs: SentencePairs,
    *,
    tokens: int,
    bos_id: int,
    device: torch.device,
    advance: Callable[[int], object] = lambda _: None,
    group: ProcessGroup = ALONE,
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Unsmoothed negative log-likelihood in nats and token count, end mark included, of each sentence, in order.

    The batches are the same whatever the number of ranks, which share them; so are the sums.

    Args:
        model: in evaluation mode, on `device`.
        pairs: what to score.
        tokens: budget a side of one batch.
        bos_id: the first decoder input.
        device: where the model is.
        advance: told how many sentences each batch finished, on all ranks together when they go at the same pace.
        group: the ranks that share the work; each gets the whole result.
    """
    own: list[tuple[NDArray[np.int64], NDArray[np.float64]]] = []
    share = {"rank": group.rank, "world_size": group.size}
    for batch in EvaluationStream(pairs, tokens=tokens, pad_id=model.pad_id, bos_id=bos_id, **share):
        if not batch.step_target_tokens:
            continue  # it only keeps ranks in step that wait for each other, which these do not
        there = batch.to(device)
        states, packing = model.decode(there.target_input, model.encode(there.source))
        losses = packing.unpack(
            token_likelihoods(
                states, model.output_weight, packing.pack_targets(there.target_output, pad_id=model.pad_id)
            )
        )
        losses = losses.where(there.target_output != model.pad_id, 0.0)
        own.append((batch.indices.numpy(), losses.double().sum(dim=1).cpu().numpy()))
        advance(len(batch.indices) * group.size)
    nll = np.zeros(len(pairs.target.lengths), dtype=np.float64)
    for indices, values in chain.from_iterable(group.gather(own)):
        nll[indices] = values
    return nll, pairs.target.lengths.astype(np.int64)


def search_all(
    model: Transformer,
    sources: Sentences,
    tokenizer: SubwordTokenizer,
    search: Search,
    *,
    device: torch.device,
    n_best: int = 1,
    advance: Callable[[int], object] = lambda _: None,
    group: ProcessGroup = ALONE,
) -> list[list[Hypothesis]]:
    """Decode source sentences in batches of similar length.

    Args:
        model: in evaluation mode, on `device`.
        sources: what to translate.
        tokenizer: knows the special tokens.
        search: beam size and the rest.
        device: where the model is.
        n_best: the most hypotheses of each sentence, from 1 to the beam size.
        advance: told how many sentences each batch finished, on all ranks together when they go at the same pace.
        group: the ranks that share the work; each gets the whole result.

    Returns:
        For each source in the order given its 1 to `n_best` hypotheses, best first.
    """
    lengths = sources.lengths
    batches = evaluation_batches(lengths, lengths, tokens=search.batch_tokens)
    own: list[tuple[NDArray[np.int64], list[list[Hypothesis]]]] = []
    with packed(model):
        for start in range(0, len(batches), group.size):
            together = batches[start : start + group.size]
            if group.rank < len(together):
                indices = together[group.rank]
                batch = torch.from_numpy(padded(sources, indices, model.pad_id)).to(device)
                own.append((indices, search_batch(model, batch, tokenizer, search, n_best)))
            advance(sum(map(len, together)))
    found: list[list[Hypothesis]] = [[]] * len(lengths)
    for indices, hypotheses in chain.from_iterable(group.gather(own)):
        for index, each in zip(indices, hypotheses, strict=True):
            found[index] = each
    return found


def search_batch(
    model: Transformer, source: Tensor, tokenizer: SubwordTokenizer, search: Search, n_best: int = 1
) -> list[list[Hypothesis]]:
    """The hypotheses of each source sentence, best first; none is longer than the model's positions reach.

    Args:
        model: in evaluation mode.
        source: int64 `[batch, source_len]`, end marks included.
        tokenizer: knows the special tokens.
        search: beam size and the rest.
        n_best: the most hypotheses of each sentence, from 1 to the beam size.
    """
    source_lengths = (source != model.pad_id).sum(dim=1)  # both sides count their end mark
    max_lengths = source_lengths + search.max_extra_length
    if model.max_length is not None:
        max_lengths = max_lengths.clamp(max=model.max_length)
    rows = len(model.embedding.weight)
    with torch.inference_mode():
        return beam_search(
            model.step,
            model.begin(source),
            max_lengths=max_lengths,
            beam_size=search.beam_size,
            length_penalty_alpha=search.length_penalty_alpha,
            bos_id=tokenizer.bos_id,
            eos_id=tokenizer.eos_id,
            # Rows of the matrix beyond the vocabulary stand for no text.
            forbidden_ids=(tokenizer.pad_id, tokenizer.bos_id, *range(tokenizer.vocabulary_size, rows)),
            n_best=n_best,
        )
