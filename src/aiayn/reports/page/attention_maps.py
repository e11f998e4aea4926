"""Attention maps that `aiayn attention` left in a run, small enough for a page."""

import base64
import gzip
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from aiayn.config.errors import UserError

VERSION = 1
"""Of the files that are read here."""

KINDS = ("encoder", "decoder", "cross")

LEVELS = 255
"""A weight from 0 to 1 becomes one byte: no eye tells more shades apart."""

MOST_BYTES = 600_000
"""Of all maps of one run, as text in the page; the first sentence is shown whatever its size."""

FILE = re.compile(r"step-(\d+)\.json")


@dataclass(frozen=True)
class Weights:
    """One kind of attention of one sentence."""

    layers: int
    heads: int
    packed: str
    """Base64 of the gzip of a byte for each weight, [layers, heads, queries, keys]."""


@dataclass(frozen=True)
class AttentionSentence:
    """One sentence pair."""

    source: tuple[str, ...]
    """Tokens, as shown to people."""
    target: tuple[str, ...]
    """What each position of the decoder predicts."""
    read: tuple[str, ...]
    """What each position of the decoder has read: the target, one token later."""
    weights: dict[str, Weights]
    """By kind: encoder [source, source], decoder [target, read], cross [target, source]."""


@dataclass(frozen=True)
class AttentionMaps:
    """What one run attends to."""

    step: int
    """Of the checkpoint, in optimizer steps."""
    sentences: tuple[AttentionSentence, ...]
    omitted: int
    """Sentences of the file that would have made the page too large."""


def read_attention(folder: Path) -> AttentionMaps | None:
    """The maps of a run's last checkpoint that has some; None where none has.

    Args:
        folder: `attention/` of a run directory.

    Raises:
        UserError: the file is no such file.
    """
    found = {int(match[1]): path for path in folder.glob("step-*.json") if (match := FILE.fullmatch(path.name))}
    if not found:
        return None
    path = found[max(found)]
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if content["version"] != VERSION:
            raise UserError(f"{path}: version={content['version']}: this aiayn reads version {VERSION}")
        sentences = [_sentence(each) for each in content["sentences"]]
        step = int(content["checkpoint_step"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(f"{path}: no attention maps ({type(error).__name__}: {error}); draw them again") from error
    kept = _affordable(sentences)
    return AttentionMaps(step, tuple(kept), len(sentences) - len(kept))


def _sentence(content: dict[str, Any]) -> AttentionSentence:
    source, target = (tuple(map(str, content[side])) for side in ("source", "target"))
    read = tuple(map(str, content.get("target_input", target)))
    shapes = {"encoder": (source, source), "decoder": (target, read), "cross": (target, source)}
    return AttentionSentence(
        source,
        target,
        read,
        {kind: _weights(content[kind], len(queries), len(keys)) for kind, (queries, keys) in shapes.items()},
    )


def _weights(matrices: list[list[list[list[float]]]], queries: int, keys: int) -> Weights:
    weights = np.asarray(matrices, dtype=np.float64)
    if weights.ndim != 4 or weights.shape[2:] != (queries, keys):
        raise ValueError(f"weights of shape {weights.shape} for {queries} and {keys} tokens")
    levels = np.rint(np.clip(np.nan_to_num(weights), 0, 1) * LEVELS).astype(np.uint8)
    packed = base64.b64encode(gzip.compress(levels.tobytes(), mtime=0)).decode()
    return Weights(weights.shape[0], weights.shape[1], packed)


def _affordable(sentences: list[AttentionSentence]) -> list[AttentionSentence]:
    kept, size = sentences[:1], 0
    for sentence in sentences:
        size += sum(len(weights.packed) for weights in sentence.weights.values())
        if size > MOST_BYTES:
            break
        if sentence is not sentences[0]:
            kept.append(sentence)
    return kept
