"""Attention maps that `aiayn attention` left in a run, small enough for a page."""

import base64
import gzip
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from aiayn.runs.attention_maps import KINDS, AttendedSentence, AttentionMaps, Kind, Weights, read_attention_maps

LEVELS = 255
"""A weight from 0 to 1 becomes one byte: no eye tells more shades apart."""

MOST_BYTES = 600_000
"""Of all maps of one run, as text in the page; the first sentence is shown whatever its size."""

FILE = re.compile(r"step-(\d+)\.json")


@dataclass(frozen=True)
class PackedWeights:
    """One kind of attention of one sentence."""

    layers: int
    heads: int
    packed: str
    """Base64 of the gzip of a byte for each weight, [layers, heads, queries, keys]."""


@dataclass(frozen=True)
class PackedSentence:
    """One sentence pair, in the units that the maps were drawn in."""

    source: tuple[str, ...]
    target: tuple[str, ...]
    """The predicted token at each position of the decoder."""
    read: tuple[str, ...]
    """The input token at each position of the decoder."""
    weights: dict[Kind, PackedWeights]
    """Encoder [source, source], decoder [target, read], cross [target, source]."""


@dataclass(frozen=True)
class PackedMaps:
    """The attention maps of one run."""

    step: int
    """Of the checkpoint, in optimizer steps."""
    sentences: tuple[PackedSentence, ...]
    omitted: int
    """Sentences of the file that would have made the page too large."""


def read_attention(folder: Path) -> PackedMaps | None:
    """The maps of a run's last checkpoint that has some; None where none has.

    Args:
        folder: `attention/` of a run directory.

    Raises:
        UserError: the file is no such file.
    """
    found = {int(match[1]): path for path in folder.glob("step-*.json") if (match := FILE.fullmatch(path.name))}
    return packed_maps(read_attention_maps(found[max(found)])) if found else None


def packed_maps(maps: AttentionMaps) -> PackedMaps:
    """Maps as a page holds them: as many sentences as it can afford, the first ones."""
    kept: list[PackedSentence] = []
    size = 0
    for sentence in map(_packed, maps.sentences):
        size += sum(len(weights.packed) for weights in sentence.weights.values())
        if kept and size > MOST_BYTES:
            break
        kept.append(sentence)
    return PackedMaps(maps.checkpoint_step, tuple(kept), len(maps.sentences) - len(kept))


def _packed(sentence: AttendedSentence) -> PackedSentence:
    return PackedSentence(
        tuple(sentence.source),
        tuple(sentence.target),
        tuple(sentence.target_input),
        {kind: _packed_weights(sentence.map(kind).weights) for kind in KINDS},
    )


def _packed_weights(weights: Weights) -> PackedWeights:
    layers, heads = weights.shape[:2]
    levels = np.rint(np.clip(weights, 0, 1) * LEVELS).astype(np.uint8)
    return PackedWeights(layers, heads, base64.b64encode(gzip.compress(levels.tobytes(), mtime=0)).decode())
