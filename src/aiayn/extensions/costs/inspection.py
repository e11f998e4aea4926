"""The layers of a configuration's model for one training batch of its corpus, beside those of another model."""

from dataclasses import dataclass

import numpy as np
import torch

from aiayn.builders.models import create_model
from aiayn.builders.preparation import cached_data
from aiayn.builders.sizes import accumulation, embedding_rows
from aiayn.config.model_schema import ModelConfig
from aiayn.config.schema import TrainConfig
from aiayn.data.batches.batching import micro_batches
from aiayn.data.batches.epoch_plan import plan_epoch
from aiayn.extensions.costs.calibration import SENTENCE_LENGTH
from aiayn.extensions.costs.plan import micro_batch
from aiayn.flat_tokens import FlatTokens, Layout
from aiayn.models.layer_tree import Layer, named_shapes, probe_batches, traced
from aiayn.system import processes

TOKENS_ON_CPU = 256
"""Of either side, for a model that the meta device cannot run."""


@dataclass(frozen=True)
class BatchLengths:
    """The tokens of each sentence of a micro-batch, end marks included."""

    source: tuple[int, ...]
    target: tuple[int, ...]
    origin: str
    """Where the lengths come from, in words."""

    def flat(self) -> tuple[FlatTokens, FlatTokens]:
        """Both sides with equal token ids."""
        source, target = (Layout.of(lengths) for lengths in (self.source, self.target))
        return FlatTokens(torch.ones_like(source.positions), source), FlatTokens(
            torch.ones_like(target.positions), target
        )

    def first(self, tokens: int) -> "BatchLengths":
        """The first sentences with at most this many tokens of either side, and at least one."""
        longer = np.maximum(np.cumsum(self.source), np.cumsum(self.target))
        count = max(1, int(np.count_nonzero(longer <= tokens)))
        return BatchLengths(self.source[:count], self.target[:count], self.origin)


@dataclass(frozen=True)
class InspectedBatch:
    """The batch that layers are traced for; end marks count."""

    origin: str
    """Where the lengths come from, in words."""
    sentences: int
    """Sentences."""
    source_tokens: int
    """Source tokens."""
    target_tokens: int
    """Target tokens."""
    longest_source: int
    """Tokens of the longest source."""
    longest_target: int
    """Tokens of the longest target."""
    is_whole: bool
    """Whether the batch is a micro-batch of training, and not its first sentences."""
    per_step: int
    """Micro-batches of an optimizer step, on all devices."""


@dataclass(frozen=True)
class Inspection:
    """A model's layers, and those of the model that it is compared with, for the same batch."""

    batch: InspectedBatch
    own: Layer
    base: Layer
    sizes: dict[str, int]
    """Names of constant dimensions."""
    base_sizes: dict[str, int]


def inspect_model(config: TrainConfig, base: ModelConfig) -> Inspection:
    """Trace both models for a batch of the run; nothing is trained, prepared or downloaded.

    Raises:
        UserError: a setting of a model is impossible.
    """
    batch, vocabulary = batch_lengths(config), config.tokenizer.vocabulary_size
    try:
        own, other = _both(config.model, base, vocabulary, batch, device="meta")
        is_whole = True
    except NotImplementedError:  # the model reads values, such as lengths, which the meta device does not have
        batch, is_whole = batch.first(TOKENS_ON_CPU), False
        own, other = _both(config.model, base, vocabulary, batch, device="cpu")
    devices = processes.all_devices(config.trainer)
    count = accumulation(config, world_size=devices) * devices
    sizes, base_sizes = (_sizes(model, vocabulary) for model in (config.model, base))
    inspected = InspectedBatch(
        origin=batch.origin,
        sentences=len(batch.source),
        source_tokens=sum(batch.source),
        target_tokens=sum(batch.target),
        longest_source=max(batch.source),
        longest_target=max(batch.target),
        is_whole=is_whole,
        per_step=count,
    )
    return Inspection(inspected, own, other, sizes, base_sizes)


def batch_lengths(config: TrainConfig) -> BatchLengths:
    """The first micro-batch of training if the cache has the corpus, else one planned from the token budgets."""
    data, recipe, devices = cached_data(config), config.optimization, processes.all_devices(config.trainer)
    if data is None:
        micro = micro_batch(config, devices=devices)
        count = max(1, round(max(micro.source_tokens, micro.target_tokens) / SENTENCE_LENGTH))
        source, target = (_equal_parts(each, count) for each in (micro.source_tokens, micro.target_tokens))
        return BatchLengths(source, target, f"planned: the corpus is not in the cache, {SENTENCE_LENGTH} tokens each")
    pairs = data.split("train")
    lengths = pairs.source.lengths, pairs.target.lengths
    plan = plan_epoch(
        *lengths, source_tokens=recipe.source_tokens, target_tokens=recipe.target_tokens, seed=config.seed, epoch=0
    )
    parts = micro_batches(plan[0], *lengths, parts=accumulation(config, world_size=devices) * devices)
    source, target = (tuple(int(each) for each in side[parts[0]]) for side in lengths)
    return BatchLengths(source, target, f"step 1 of training on the prepared corpus {data.directory.name}")


def _equal_parts(tokens: int, count: int) -> tuple[int, ...]:
    """`count` lengths of about equal size with the sum `tokens`; each is at least 1."""
    each, rest = divmod(max(tokens, count), count)
    return tuple(each + (number < rest) for number in range(count))


def _both(
    own: ModelConfig, base: ModelConfig, vocabulary: int, batch: BatchLengths, *, device: str
) -> tuple[Layer, Layer]:
    traced_own = _layers(own, vocabulary, batch, device=device)
    return traced_own, traced_own if own == base else _layers(base, vocabulary, batch, device=device)


def _layers(config: ModelConfig, vocabulary: int, batch: BatchLengths, *, device: str) -> Layer:
    rows = embedding_rows(config, vocabulary_size=vocabulary)
    with torch.device(device), torch.random.fork_rng(devices=[]):
        model = create_model(config, rows=rows)
    model = model if device == "meta" else model.double()
    tree, *probed = (traced(model, *sides) for sides in (batch.flat(), *probe_batches()))
    return named_shapes(tree, probed)


def _sizes(config: ModelConfig, vocabulary: int) -> dict[str, int]:
    """The sizes that the configuration names, and the rows of the vocabulary; of equal ones the first names shapes."""
    names = ("d_model", "d_ff", "num_layers", "num_heads", "d_k", "d_v", "kernel_size")
    found = {name: value for name in names if isinstance(value := getattr(config, name, None), int)}
    return {**found, "vocabulary": embedding_rows(config, vocabulary_size=vocabulary)}
