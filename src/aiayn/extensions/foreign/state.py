"""The weights of encoder and decoder layers, from the names of fairseq, which Marian in transformers shares."""

from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor

from aiayn.errors import UserError

ATTENTIONS = {"self_attn": "self_attention", "encoder_attn": "cross_attention"}
"""The attentions of a layer by their names there."""


class ForeignState:
    """Tensors by their names in another library; each is taken once, so that the remaining ones can be named."""

    def __init__(self, tensors: Mapping[str, Tensor], path: Path) -> None:
        self._tensors, self._path = dict(tensors), path

    def __contains__(self, name: str) -> bool:
        return name in self._tensors

    def take(self, name: str) -> Tensor:
        """The tensor of this name; UserError if there is none."""
        if name not in self._tensors:
            raise UserError(
                f"checkpoint={self._path}: has no weights {name}: not a Transformer of the paper's structure"
            )
        return self._tensors.pop(name)

    def take_all(self, names: Mapping[str, str]) -> dict[str, Tensor]:
        """Weight and bias of each of these parts, under the names that they are mapped to."""
        return {f"{own}.{kind}": self.take(f"{name}.{kind}") for name, own in names.items() for kind in KINDS}

    def leave_out(self, *names: str) -> None:
        """Remove tensors that repeat others or are no weights, if the checkpoint has them."""
        for name in names:
            self._tensors.pop(name, None)

    def check_empty(self) -> None:
        """Refuse a checkpoint with further weights: without them it would be another model."""
        if self._tensors:
            raise UserError(
                f"checkpoint={self._path}: has weights that model=transformer lacks, such as {min(self._tensors)}; "
                "models of other structures are not imported"
            )


def named_tensors(content: object, place: str) -> Mapping[str, Tensor]:
    """The weights by name that a checkpoint should hold; UserError if it holds none."""
    if not isinstance(content, dict) or not content or not all(isinstance(each, Tensor) for each in content.values()):
        raise UserError(f"{place}: holds no weights by name; name the checkpoint of a trained model")
    return content


KINDS = ("weight", "bias")


def layers(state: ForeignState, side: str, own: str, *, num_layers: int) -> dict[str, Tensor]:
    """The weights of all layers of an encoder or decoder, named `side` there and `own` here."""
    weights: dict[str, Tensor] = {}
    for number in range(num_layers):
        there, here = f"{side}.layers.{number}", f"{own}.{number}"
        for theirs, ours in ATTENTIONS.items():
            if theirs == "encoder_attn" and own == "encoder":
                continue
            weights |= _attention(state, f"{there}.{theirs}", f"{here}.{ours}", is_self=theirs == "self_attn")
            weights |= state.take_all({f"{there}.{theirs}_layer_norm": f"{here}.{ours}_residual.norm"})
        weights |= state.take_all(
            {
                f"{there}.fc1": f"{here}.feed_forward.inner",
                f"{there}.fc2": f"{here}.feed_forward.output",
                f"{there}.final_layer_norm": f"{here}.feed_forward_residual.norm",
            }
        )
    return weights


def _attention(state: ForeignState, there: str, here: str, *, is_self: bool) -> dict[str, Tensor]:
    """The projections of an attention: those of one input are one matrix, in the order queries, keys, values."""
    weights = state.take_all({f"{there}.out_proj": f"{here}.output"})
    for kind in KINDS:
        query, key, value = (state.take(f"{there}.{each}_proj.{kind}") for each in "qkv")
        if is_self:
            weights[f"{here}.query_key_value.{kind}"] = torch.cat([query, key, value])
        else:
            weights[f"{here}.query.{kind}"] = query
            weights[f"{here}.key_value.{kind}"] = torch.cat([key, value])
    return weights
