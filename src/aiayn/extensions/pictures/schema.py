"""The schema of `aiayn attention`."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from omegaconf import MISSING

from aiayn.config.command_schema import AttentionUnits, DeviceConfig, SearchOverridesConfig, TrustConfig
from aiayn.config.values import LARGEST, Count, Range, WholeNumbersOrNull, text, text_or_null


class AttentionKind(StrEnum):
    """The attention to draw."""

    encoder = "encoder"
    decoder = "decoder"
    cross = "cross"
    all = "all"


class PictureFormat(StrEnum):
    """The format of pictures."""

    png = "png"
    svg = "svg"


@dataclass
class AttentionConfig(DeviceConfig, TrustConfig):
    """`aiayn attention`."""

    run: str = text()
    """A run directory."""
    checkpoint: str = text()
    """last, best, average or an optimizer step."""
    output: str | None = text_or_null()
    """A folder for the pictures; null: attention/ in the run directory."""
    format: PictureFormat = MISSING
    """png or svg."""
    kind: AttentionKind = MISSING
    """The attention: encoder (source to source), decoder (target to target), cross (target to source), or all."""
    layers: WholeNumbersOrNull = MISSING
    """Layers to draw, counted from 1: a number or a list; null: all. The last of them is drawn as lines, too."""
    heads: WholeNumbersOrNull = MISSING
    """Heads to draw, likewise."""
    units: AttentionUnits = MISSING
    """words: pieces of a word are summed as keys and averaged as queries; tokens: single pieces."""
    word: str | None = text_or_null()
    """Draw lines from this word (or token) only; null: from all."""
    max_sentences: Count = MISSING
    """Most lines read from standard input."""
    max_length: Annotated[int, Range(2, LARGEST)] = MISSING
    """Most tokens per side, end mark included; longer sentences are left out."""
    decoding: SearchOverridesConfig = MISSING
    """Search settings that differ from the run's, for sources without a target."""
