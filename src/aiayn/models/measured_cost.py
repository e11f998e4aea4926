"""The cost of a model without a closed form, counted by torch in one forward pass of a sentence pair."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from aiayn.flat_tokens import FlatTokens
from aiayn.models.cost import Kept, ModelCost
from aiayn.models.translation_model import TranslationModel, count_parameters

SENTENCES, LENGTH = 4, 16
"""Sentences whose kept values are counted, and their tokens."""

ROWS = 8
"""Rows of the vocabulary while operations are counted: the output layer is added in closed form."""

PRODUCTS = (torch.ops.aten.mm, torch.ops.aten.addmm, torch.ops.aten.convolution)
"""Products of weights with tokens; attention's own are batched ones and are not counted."""


def measured_cost(build: Callable[[int], TranslationModel[Any]], *, vocabulary_size: int) -> ModelCost:
    """Count a model's parameters on the meta device, and operations and kept values of a token on the CPU.

    `build` makes the model with this many rows of its vocabulary.
    """
    with torch.device("meta"):
        parameters = count_parameters(build(vocabulary_size))
    with torch.random.fork_rng(devices=[]):
        model = build(ROWS).double()  # torch's counter knows products of doubles
    d_model = model.output_weight.shape[1]
    # Differences between two lengths leave out what is done once a sentence.
    met, met_source, met_target = (_weights_met(model, *lengths) for lengths in ((1, 1), (2, 1), (1, 2)))
    lengths = ((LENGTH, LENGTH), (2 * LENGTH, LENGTH), (LENGTH, 2 * LENGTH))
    kept, kept_source, kept_target = (_kept(model, *each) for each in lengths)
    return ModelCost(
        parameters=parameters,
        source_weights=met_source - met,
        target_weights=met_target - met + (vocabulary_size - ROWS) * d_model,
        source_kept=_per_token(kept_source, kept),
        target_kept=_per_token(kept_target, kept),
        d_model=d_model,
        vocabulary_size=vocabulary_size,
    )


def _per_token(longer: Kept, shorter: Kept) -> Kept:
    tokens = SENTENCES * LENGTH
    return Kept((longer.products - shorter.products) // tokens, masks=(longer.masks - shorter.masks) // tokens)


def _weights_met(model: TranslationModel[Any], source_len: int, target_len: int) -> int:
    """Weights of matrices, each as often as it is applied to a token in a forward pass."""
    model.requires_grad_(False)  # which the counter's hooks want beside no_grad
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        model(FlatTokens.of([[1] * source_len]), FlatTokens.of([[1] * target_len]))
    counts = counter.get_flop_counts()["Global"]
    return int(sum(counts.get(product, 0) for product in PRODUCTS)) // 2


def _kept(model: TranslationModel[Any], source_len: int, target_len: int) -> Kept:
    """Values and bytes of masks that autograd holds after a forward pass, without parameters and indices."""
    weights = {parameter.untyped_storage().data_ptr() for parameter in model.parameters()}
    held: dict[int, Tensor] = {}  # the tensors stay alive, so that no address is used twice

    def pack(tensor: Tensor) -> Tensor:
        address = tensor.untyped_storage().data_ptr()
        if address not in weights:
            held.setdefault(address, tensor)
        return tensor

    source, target = (FlatTokens.of([[1] * length] * SENTENCES) for length in (source_len, target_len))
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        states = model.requires_grad_().train().decode(target, model.encode(source))
    assert states.requires_grad
    values = sum(each.untyped_storage().nbytes() // 8 for each in held.values() if each.is_floating_point())
    return Kept(
        values, masks=sum(each.untyped_storage().nbytes() for each in held.values() if each.dtype is torch.bool)
    )
