"""What a model attended to in a few sentences, as a run directory keeps it: `attention/step-<n>.json`."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from aiayn.errors import UserError
from aiayn.system import files

VERSION = 1
"""Rises when a key changes its meaning or goes away."""

DECIMALS = 3

Kind: TypeAlias = Literal["encoder", "decoder", "cross"]
"""Which attention: source to source, target to target, target to source."""

KINDS: tuple[Kind, ...] = ("encoder", "decoder", "cross")

Weights: TypeAlias = NDArray[np.floating[Any]]
"""`[layers, heads, queries, keys]`; every row sums to 1."""


@dataclass(frozen=True)
class Map:
    """One attention of one sentence: who attends to whom, and how much."""

    kind: Kind
    queries: list[str]
    keys: list[str]
    weights: Weights
    """`[layers, heads, queries, keys]`."""


@dataclass(frozen=True)
class AttendedSentence:
    """A sentence pair in units, words or tokens, and all its attentions."""

    line: int
    """Its number in the input, from 1."""
    source: list[str]
    """What the encoder reads, end mark included."""
    target: list[str]
    """What the decoder predicts, end mark included: the queries of its attentions."""
    target_input: list[str]
    """What the decoder reads, start mark included: the keys of its attention to itself."""
    encoder: Weights
    """`[layers, heads, source, source]`."""
    decoder: Weights
    """`[layers, heads, target, target_input]`."""
    cross: Weights
    """`[layers, heads, target, source]`."""

    def map(self, kind: Kind) -> Map:
        """One of its attentions."""
        queries = self.source if kind == "encoder" else self.target
        keys = self.target_input if kind == "decoder" else self.source
        return Map(kind, queries, keys, getattr(self, kind))


@dataclass(frozen=True)
class AttentionMaps:
    """A few sentences under one checkpoint."""

    checkpoint_step: int
    units: str
    """words or tokens."""
    sentences: list[AttendedSentence]


def write_attention_maps(path: Path, maps: AttentionMaps) -> None:
    """Write the file that `read_attention_maps` reads; weights are rounded to three decimals."""
    sentences = [{key: _plain(value) for key, value in vars(sentence).items()} for sentence in maps.sentences]
    content = {"version": VERSION, **vars(maps), "sentences": sentences}
    files.write_text(path, json.dumps(content, ensure_ascii=False, separators=(",", ":")) + "\n")


def read_attention_maps(path: Path) -> AttentionMaps:
    """Read such a file.

    Raises:
        UserError: it cannot be read, or is of another version.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        is_known = content.pop("version") == VERSION
        maps = AttentionMaps(sentences=[_sentence(each) for each in content.pop("sentences")], **content)
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror})") from error
    except (ValueError, KeyError, TypeError, AttributeError):
        is_known = False
    if not is_known:
        raise UserError(f"{path}: holds no attention maps of version {VERSION}; call aiayn attention again")
    return maps


def _sentence(content: dict[str, Any]) -> AttendedSentence:
    fields: dict[str, Any] = {key: np.array(value) if key in KINDS else value for key, value in content.items()}
    return AttendedSentence(**fields)


def _plain(value: object) -> object:
    return np.round(value.astype(np.float64), DECIMALS).tolist() if isinstance(value, np.ndarray) else value
