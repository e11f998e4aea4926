"""The cost of a model without a closed form, counted by torch in forward passes of a few short sentences."""

from collections.abc import Callable
from typing import Any

import torch

from aiayn.flat_tokens import FlatTokens
from aiayn.models.cost import Kept, ModelCost
from aiayn.models.tracing import trace
from aiayn.models.translation_model import TranslationModel, count_parameters

SENTENCES, LENGTH = 4, 16
"""Sentences whose kept values are counted, and their tokens."""

ROWS = 8
"""Rows of the vocabulary while operations are counted: the output layer is added in closed form."""


def measured_cost(build: Callable[[int], TranslationModel[Any]], *, vocabulary_size: int) -> ModelCost:
    """Count a model's parameters on the meta device, and operations and kept values of a token on the CPU.

    `build` makes the model with this many rows of its vocabulary.
    """
    with torch.device("meta"):
        parameters = count_parameters(build(vocabulary_size))
    with torch.random.fork_rng(devices=[]):
        model = build(ROWS).double()  # torch's counter knows products of doubles
        # Differences between two lengths exclude operations done once a sentence.
        weights, *longer_weights = (_weights(model, *lengths) for lengths in ((1, 1), (2, 1), (1, 2)))
        lengths = ((LENGTH, LENGTH), (2 * LENGTH, LENGTH), (LENGTH, 2 * LENGTH))
        kept, *longer_kept = (_kept(model, *each) for each in lengths)
    d_model = model.output_weight.shape[1]
    source_weights, target_weights = (each - weights for each in longer_weights)
    source_kept, target_kept = (_per_token(each, kept) for each in longer_kept)
    return ModelCost(
        parameters=parameters,
        source_weights=source_weights,
        target_weights=target_weights + (vocabulary_size - ROWS) * d_model,
        source_kept=source_kept,
        target_kept=target_kept,
        d_model=d_model,
        vocabulary_size=vocabulary_size,
    )


def _weights(model: TranslationModel[Any], source_len: int, target_len: int) -> int:
    """Weights of matrices, each as often as it is applied to a token in a forward pass of one sentence pair."""
    found = trace(model, FlatTokens.of([[1] * source_len]), FlatTokens.of([[1] * target_len]))
    return sum(each.weight_flops for each in found.counts.values()) // 2


def _kept(model: TranslationModel[Any], source_len: int, target_len: int) -> Kept:
    """Values and masks that the forward pass of some sentences keeps."""
    counts = trace(model, *(FlatTokens.of([[1] * each] * SENTENCES) for each in (source_len, target_len))).counts
    return Kept(
        sum(each.kept_values for each in counts.values()), masks=sum(each.kept_masks for each in counts.values())
    )


def _per_token(longer: Kept, shorter: Kept) -> Kept:
    tokens = SENTENCES * LENGTH
    return Kept((longer.products - shorter.products) // tokens, masks=(longer.masks - shorter.masks) // tokens)
