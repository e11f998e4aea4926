"""What a trained model makes of a split: likelihoods and translations. Plain torch; nothing here trains."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from aiayn.data.batching import evaluation_batches
from aiayn.data.collation import collate
from aiayn.data.prepared import PreparedSplit
from aiayn.data.tokenizer import SubwordTokenizer
from aiayn.decoding.beam_search import beam_search
from aiayn.models.transformer import Transformer
from aiayn.training.data_module import EvaluationStream


@dataclass(frozen=True)
class Search:
    """The settings of the search (section 6.1)."""

    beam_size: int
    length_penalty_alpha: float
    max_extra_length: int
    batch_tokens: int


@torch.inference_mode()
def sentence_likelihoods(
    model: Transformer, split: PreparedSplit, *, tokens: int, bos_id: int, device: torch.device
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Unsmoothed negative log-likelihood in nats and token count, end mark included, of each sentence, in order.

    Args:
        model: in evaluation mode, on `device`.
        split: what to score.
        tokens: budget a side of one batch.
        bos_id: the first decoder input.
        device: where the model is.
    """
    nll = np.zeros(len(split), dtype=np.float64)
    for batch in EvaluationStream(split, tokens=tokens, pad_id=model.pad_id, bos_id=bos_id):
        there = batch.to(device)
        logits = model(there.source, there.target_input).float()
        real = there.target_output != model.pad_id
        target = logits.gather(-1, there.target_output.unsqueeze(-1)).squeeze(-1)
        losses = (torch.logsumexp(logits, dim=-1) - target).where(real, 0.0)
        nll[batch.indices.numpy()] = losses.double().sum(dim=1).cpu().numpy()
    return nll, split.target.lengths.astype(np.int64)


def translate_split(
    model: Transformer,
    split: PreparedSplit,
    tokenizer: SubwordTokenizer,
    search: Search,
    *,
    device: torch.device,
    advance: Callable[[int], object] = lambda _: None,
) -> list[str]:
    """Decode every source sentence; detokenised text in the order of the split.

    Args:
        model: in evaluation mode, on `device`.
        split: its source side is read.
        tokenizer: turns tokens back into text.
        search: beam size and the rest.
        device: where the model is.
        advance: told how many sentences each batch finished.
    """
    hypotheses: list[str] = [""] * len(split)
    lengths = split.source.lengths
    for indices in evaluation_batches(lengths, lengths, tokens=search.batch_tokens):
        batch = collate(split, indices, pad_id=model.pad_id, bos_id=tokenizer.bos_id)
        outputs = translate_batch(model, batch.source.to(device), tokenizer, search)
        for index, text in zip(indices, tokenizer.decode_batch(outputs), strict=True):
            hypotheses[index] = text
        advance(len(indices))
    return hypotheses


def translate_batch(model: Transformer, source: Tensor, tokenizer: SubwordTokenizer, search: Search) -> list[list[int]]:
    """The best output of each source sentence, without begin and end marks.

    Args:
        model: in evaluation mode.
        source: int64 `[batch, source_len]`, end marks included.
        tokenizer: knows the special tokens.
        search: beam size and the rest.
    """
    source_lengths = (source != model.pad_id).sum(dim=1)  # both sides count their end mark
    rows = len(model.embedding.weight)
    with torch.inference_mode():
        outputs = beam_search(
            model.step,
            model.begin(source),
            max_lengths=source_lengths + search.max_extra_length,
            beam_size=search.beam_size,
            length_penalty_alpha=search.length_penalty_alpha,
            bos_id=tokenizer.bos_id,
            eos_id=tokenizer.eos_id,
            # Rows of the matrix beyond the vocabulary stand for no text.
            forbidden_ids=(tokenizer.pad_id, tokenizer.bos_id, *range(tokenizer.vocabulary_size, rows)),
        )
    return [list(best[0].tokens) for best in outputs]
