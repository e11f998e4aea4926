"""A model of another library in this project's form."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from aiayn.config.schema import EosWithin, LengthPenalty
from aiayn.config.values import Count, Share, Size, check_value
from aiayn.data.given_pieces import GivenTokenizer
from aiayn.errors import UserError


@dataclass(frozen=True)
class ForeignModel:
    """A model that was read from a checkpoint of another library."""

    library: str
    """fairseq or marian."""
    weights: Mapping[str, Tensor]
    """Tensors by the names of `aiayn.models.transformer.Transformer`."""
    model: Mapping[str, Any]
    """The values of the configuration's group `model` that the checkpoint states."""
    decoding: Mapping[str, Any]
    """The values of the group `decoding` that the checkpoint states: the library's own search."""
    tokenizer: GivenTokenizer
    languages: tuple[str, str]
    """Languages of source and target as the checkpoint names them, usually by ISO 639-1 codes."""
    weights_file: Path
    vocabulary_file: str
    """The name of the file of its vocabulary."""
    step: int = 0
    """Optimizer steps of its training; 0: unknown."""


SIDES = ("encoder", "decoder")

SIZES: Mapping[str, Any] = dict.fromkeys(("embed_dim", "ffn_embed_dim", "ffn_dim"), Size) | dict.fromkeys(
    ("layers", "attention_heads"), Count
)
"""Sizes of encoder and decoder, by their names in either library after `encoder_` or `decoder_`."""

TYPES: Mapping[str, Any] = {
    **{f"{side}_{name}": hint for side in SIDES for name, hint in SIZES.items()},
    "d_model": Size,
    "source_lang": str,
    "target_lang": str,
    "activation_fn": str,
    "activation_function": str,
    **dict.fromkeys(("dropout", "attention_dropout", "activation_dropout", "relu_dropout"), Share),
    **dict.fromkeys(("max_source_positions", "max_target_positions", "max_position_embeddings"), Count),
    **dict.fromkeys(("pad_token_id", "eos_token_id", "decoder_start_token_id"), int),
    **dict.fromkeys(("beam", "num_beams"), Count),
    **dict.fromkeys(("lenpen", "length_penalty"), float),
}
"""Types of the settings that are read, by their names in either library."""


def check_settings(settings: Mapping[str, Any], place: str) -> None:
    """Refuse settings of another type than `TYPES` has; UserError with `place` and the setting."""
    for name, hint in TYPES.items():
        if settings.get(name) is not None:
            check_value(f"{place}: {name}", settings[name], hint)


UNKNOWN_LANGUAGE = "und"
"""ISO 639-2's code of an undetermined language, where a checkpoint names none."""

EPSILON = 1e-5
"""Epsilon of layer normalisation in both libraries: PyTorch's default."""


def shared(settings: Mapping[str, Any], name: str, place: str) -> Any:
    """The value that encoder and decoder have in common; UserError with `place` if they differ or have none."""
    values = [settings.get(f"{side}_{name}") for side in SIDES]
    if values[0] != values[1] or values[0] is None:
        raise UserError(
            f"{place}: {name} is {values[0]} in the encoder and {values[1]} in the decoder; "
            "models with one value for both are imported"
        )
    return values[0]


def parts_of(*, d_model: int, d_ff: int, num_layers: int, num_heads: int) -> dict[str, Any]:
    """The values of the group `model` that follow from four sizes, and those of all models of both libraries."""
    return {
        "d_model": d_model,
        "d_ff": d_ff,
        "num_layers": num_layers,
        "num_heads": num_heads,
        "d_k": d_model // num_heads,
        "d_v": d_model // num_heads,
        "projection_bias": True,
        "layer_norm_epsilon": EPSILON,
    }


def search_of(*, beam_size: int, alpha: float) -> dict[str, Any]:
    """The values of the group `decoding` for the search of both libraries."""
    return {
        "beam_size": beam_size,
        "length_penalty": LengthPenalty.power,
        "length_penalty_alpha": float(alpha),
        "eos_within": EosWithin.beam,
    }
