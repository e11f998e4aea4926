"""Likelihoods and translations of sentences by a trained model."""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from aiayn.config.schema import BeamSearchConfig
from aiayn.data.batches.batching import EvaluationStream, evaluation_batches
from aiayn.data.batches.collation import TranslationBatch, flat_tokens
from aiayn.data.batches.epoch_plan import Indices
from aiayn.data.batches.sentences import SentencePairs, Sentences
from aiayn.data.lines import one_line
from aiayn.data.vocabulary import AnyTokenizer, start_id
from aiayn.decoding.beam_search import BeamSearch
from aiayn.decoding.constraint import ConstrainedState, Rules, constrained
from aiayn.decoding.step import Hypothesis, StepFunction
from aiayn.models.ensemble import Ensemble, log_mean
from aiayn.models.kernels.matmul import packed
from aiayn.models.translation_model import TranslationModel
from aiayn.registry import added_tokenizers, named
from aiayn.system.resource_errors import memory_errors_explained
from aiayn.training.loss import token_likelihoods
from aiayn.training.process_group import ALONE, ProcessGroup

AnyModel: TypeAlias = TranslationModel[Any] | Ensemble
"""A model that can be searched and that scores translations."""


@memory_errors_explained("decoding.batch_tokens, or batch_tokens of aiayn score")
@torch.inference_mode()
def sentence_likelihoods(
    model: AnyModel,
    pairs: SentencePairs,
    *,
    tokens: int,
    start_id: int,
    device: torch.device,
    advance: Callable[[int], object] = lambda _: None,
    group: ProcessGroup = ALONE,
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Unsmoothed negative log-likelihood in nats and token count, end mark included, of each sentence, in order.

    The result is the same on every rank of `group`, whatever their number. `tokens` is the budget of a batch per side;
    `advance` gets the number of sentences finished by each batch, estimated for all ranks. RunFailedError: out of
    memory.
    """
    own: list[tuple[NDArray[np.int64], NDArray[np.float64]]] = []
    share = {"rank": group.rank, "world_size": group.size}
    for batch in EvaluationStream(pairs, tokens=tokens, start_id=start_id, **share):
        if not batch.step_target_tokens:
            continue  # an empty batch, which only training ranks need
        there = batch.to(device)
        losses = _token_losses(model, there).double().cpu().numpy()
        own.append((batch.indices.numpy(), np.add.reduceat(losses, batch.target_input.layout.offsets[:-2].numpy())))
        advance(len(batch.indices) * group.size)
    nll = np.zeros(len(pairs.target.lengths), dtype=np.float64)
    for indices, values in chain.from_iterable(group.gather(own)):
        nll[indices] = values
    return nll, pairs.target.lengths.astype(np.int64)


def _token_losses(model: AnyModel, batch: TranslationBatch) -> Tensor:
    """Negative log-likelihood of each target token given those before it, float32 `[tokens]`."""
    if isinstance(model, Ensemble):
        return -log_mean(-_token_losses(member, batch) for member in model)
    states = model.states(batch.source, batch.target_input)
    return token_likelihoods(states, model.output_weight, batch.target_output, bias=model.output_bias)


@memory_errors_explained("decoding.batch_tokens or decoding.beam_size")
def search_all(
    model: AnyModel,
    sources: Sentences,
    tokenizer: AnyTokenizer,
    search: BeamSearchConfig,
    *,
    device: torch.device,
    n_best: int = 1,
    of_each_length: bool = False,
    advance: Callable[[int], object] = lambda _: None,
    group: ProcessGroup = ALONE,
    refills: bool | None = None,
) -> list[list[Hypothesis]]:
    """Decode source sentences in batches of similar length, by a model in evaluation mode.

    `n_best` is the most hypotheses of a sentence, up to the beam size; `of_each_length` asks for the best of each
    length instead, to be ranked with other alphas. `advance` gets the number of sentences finished, estimated for all
    ranks. With `refills`, new sentences enter the batch when a quarter of it is finished; None: not on a CPU. It saves
    a fifth of the steps, which pays on a GPU: a step there takes about as long with fewer sentences.

    Returns:
        The hypotheses of each source in the given order, at least one, best first; on every rank.

    Raises:
        RunFailedError: out of memory.
    """
    lengths, refills = sources.lengths, device.type != "cpu" if refills is None else refills
    tokens = max(1, search.batch_tokens // 4) if refills else search.batch_tokens
    chunks = evaluation_batches(lengths, lengths, tokens=tokens)[group.rank :: group.size]
    rules = _constraint(model, tokenizer, search, device) if search.constrained else None
    step: StepFunction[Any] = constrained(model.step) if rules else model.step
    feeder = _SourceFeeder(model, sources, deque(chunks), search, device, refills, rules)
    own: list[tuple[int, list[Hypothesis]]] = []
    reported, total = 0, sum(map(len, chunks))
    # Rows of the matrix beyond the vocabulary are no tokens.
    forbidden = [tokenizer.pad_id, tokenizer.bos_id, *range(tokenizer.vocabulary_size, model.vocabulary_size)]
    with packed(model):
        searcher = BeamSearch(
            beam_size=search.beam_size,
            length_penalty=search.length_penalty.value,
            length_penalty_alpha=search.length_penalty_alpha,
            start_id=start_id(tokenizer, model.target_start),
            eos_id=tokenizer.eos_id,
            forbidden_ids=forbidden,
            n_best=n_best,
            eos_within=search.eos_within.value,
            of_each_length=of_each_length,
        )
        for number, hypotheses in searcher.stream(step, feeder):
            own.append((feeder.begun[number], hypotheses))
            together = len(lengths) * len(own) // total
            advance(together - reported)
            reported = together
    found: list[list[Hypothesis]] = [[]] * len(lengths)
    for index, hypotheses in chain.from_iterable(group.gather(own)):
        found[index] = hypotheses
    return found


def best_texts(found: Sequence[Sequence[Hypothesis]], tokenizer: AnyTokenizer) -> list[str]:
    """The best hypothesis of each sentence as one line of text."""
    return [one_line(text) for text in tokenizer.decode_batch(best.tokens for best, *_ in found)]


def _constraint(model: AnyModel, tokenizer: AnyTokenizer, search: BeamSearchConfig, device: torch.device) -> Rules:
    """The rules of a constrained search."""
    kinds = (each for each in added_tokenizers().values() if named(each.tokenizer) is type(tokenizer))
    rules: Rules = named(next(kinds).constraint)(model, tokenizer, search, device)
    return rules


@dataclass
class _SourceFeeder:
    """Starts sources of a search chunk by chunk, as many as fit into its budget of padded tokens."""

    model: AnyModel
    sources: Sentences
    chunks: deque[Indices]
    search: BeamSearchConfig
    device: torch.device
    refills: bool
    rules: Rules | None
    begun: list[int] = field(default_factory=list)
    """The source of each number of the search."""

    def __call__(self, present: Sequence[int]) -> tuple[Any, Tensor] | None:
        """See `aiayn.decoding.step.Supply`."""
        there = [int(self.sources.lengths[self.begun[number]]) for number in present]
        arriving: list[int] = []
        while self.chunks and self._fits(self.chunks[0], there):
            chunk = self.chunks.popleft()
            arriving += chunk.tolist()
            there += self.sources.lengths[chunk].tolist()
        self.begun += arriving
        return self._begin(np.array(arriving)) if arriving else None

    def _fits(self, chunk: Indices, there: Sequence[int]) -> bool:
        """Whether a chunk fits beside sentences of these lengths; without any it always does."""
        if not there or not self.refills:
            return not there
        return (len(there) + len(chunk)) * max(there) <= self.search.batch_tokens

    def _begin(self, indices: Indices) -> tuple[Any, Tensor]:
        source = flat_tokens(self.sources, indices).to(self.device)
        # Both sides include their end mark; outputs are limited to the model's positions.
        limits = self.sources.lengths[indices].astype(np.int64) + self.search.max_extra_length
        if self.model.max_length is not None:
            limits = np.minimum(limits, self.model.max_length)
        state, max_lengths = self.model.begin(source), torch.from_numpy(limits).to(self.device)
        if self.rules is None:
            return state, max_lengths
        words = torch.from_numpy(self.sources.lengths[indices].astype(np.int64) - 1).to(self.device)
        return ConstrainedState(state, self.rules.begin(words, max_lengths)), max_lengths
