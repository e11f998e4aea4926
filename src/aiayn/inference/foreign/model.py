"""A model of another library, as this project would have it."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from aiayn.data.given_pieces import GivenTokenizer


@dataclass(frozen=True)
class ForeignModel:
    """A model that was read from a checkpoint of another library."""

    library: str
    """fairseq or marian."""
    weights: Mapping[str, Tensor]
    """By the names of `aiayn.models.transformer.Transformer`."""
    model: Mapping[str, Any]
    """The values of the configuration's group `model` that the checkpoint states."""
    decoding: Mapping[str, Any]
    """The same of the group `decoding`: the library's own search."""
    tokenizer: GivenTokenizer
    languages: tuple[str, str]
    """ISO 639-1 codes of source and target, or what the checkpoint has in their place."""
    weights_file: Path
    step: int = 0
    """Optimizer steps of its training; 0: not known."""


UNKNOWN_LANGUAGE = "und"
"""ISO 639-2's code of an undetermined language, where a checkpoint names none."""
