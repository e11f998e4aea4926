"""The attention weights of a few sentences, in a run directory's `attention/step-<n>.json`."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from aiayn.errors import UserError
from aiayn.system import files
from aiayn.system.documents import read_json

VERSION = 1
"""Increased when a key changes its meaning or is removed."""

DECIMALS = 3

Kind: TypeAlias = Literal["encoder", "decoder", "cross"]
"""Attention of source to source, target to target, target to source."""

KINDS: tuple[Kind, ...] = ("encoder", "decoder", "cross")

Weights: TypeAlias = NDArray[np.floating[Any]]
"""`[layers, heads, queries, keys]`; each row sums to 1."""


@dataclass(frozen=True)
class Map:
    """One attention of one sentence."""

    kind: Kind
    queries: list[str]
    keys: list[str]
    weights: Weights


@dataclass(frozen=True)
class AttendedSentence:
    """A sentence pair as words or tokens, and its attentions."""

    line: int
    """In the input, from 1."""
    source: list[str]
    """Input of the encoder, end mark included."""
    target: list[str]
    """Output of the decoder, end mark included."""
    target_input: list[str]
    """Input of the decoder, start mark included."""
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
    """Write the maps, with rounded weights."""
    sentences = [{key: _plain(value) for key, value in vars(sentence).items()} for sentence in maps.sentences]
    content = {"version": VERSION, **vars(maps), "sentences": sentences}
    files.write_text(path, json.dumps(content, ensure_ascii=False, separators=(",", ":")) + "\n")


def read_attention_maps(path: Path) -> AttentionMaps:
    """Read a file of `write_attention_maps`; UserError if it is not one."""
    try:
        content = read_json(path)
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
