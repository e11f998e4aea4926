"""Attention maps become small and stay what they are."""

import base64
import gzip
from pathlib import Path

import numpy as np
import pytest

from aiayn.errors import UserError
from aiayn.reports.page import attention_maps
from aiayn.reports.page.attention_maps import LEVELS, packed_maps, read_attention
from aiayn.runs.attention_maps import AttendedSentence, AttentionMaps, Weights, write_attention_maps

SOURCE, TARGET, READ = ["A", "dog", "⟨eos⟩"], ["Ein", "Hund", "⟨eos⟩", "."], ["⟨bos⟩", "Ein", "Hund", "⟨eos⟩"]
LAYERS, HEADS = 2, 3


def weights(queries: int, keys: int) -> Weights:
    drawn = np.random.default_rng(queries * keys).random((LAYERS, HEADS, queries, keys))
    softmax: Weights = drawn / drawn.sum(-1, keepdims=True)
    return softmax


SENTENCE = AttendedSentence(1, SOURCE, TARGET, READ, weights(3, 3), weights(4, 4), weights(4, 3))


def maps(count: int = 1, *, step: int = 3) -> AttentionMaps:
    return AttentionMaps(checkpoint_step=step, units="tokens", sentences=[SENTENCE] * count)


def test_weights_come_back_to_half_a_level() -> None:
    (shown,) = packed_maps(maps()).sentences
    assert (shown.source, shown.target, shown.read) == (tuple(SOURCE), tuple(TARGET), tuple(READ))
    for kind, packed in shown.weights.items():
        written = SENTENCE.map(kind).weights
        levels = np.frombuffer(gzip.decompress(base64.b64decode(packed.packed)), dtype=np.uint8)
        assert (packed.layers, packed.heads) == (LAYERS, HEADS)
        assert np.abs(levels.reshape(written.shape) / LEVELS - written).max() <= 0.5 / LEVELS + 1e-9


def test_the_last_checkpoint_with_maps_is_shown(tmp_path: Path) -> None:
    assert read_attention(tmp_path / "attention") is None
    for step in (9, 10):  # by number, not by name
        write_attention_maps(tmp_path / "attention" / f"step-{step}.json", maps(step=step))
    found = read_attention(tmp_path / "attention")
    assert found is not None
    assert found.step == 10


def test_what_is_no_map_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "step-3.json").write_text("[]")
    with pytest.raises(UserError, match=r"step-3\.json: ") as caught:
        read_attention(tmp_path)
    assert "\n" not in str(caught.value)


def test_what_would_make_the_page_large_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = packed_maps(maps(5))
    assert (len(whole.sentences), whole.omitted) == (5, 0)
    size = sum(len(each.packed) for each in whole.sentences[0].weights.values())
    for most, kept in ((3 * size, 3), (3 * size - 1, 2), (1, 1)):
        monkeypatch.setattr(attention_maps, "MOST_BYTES", most)
        found = packed_maps(maps(5))
        assert (len(found.sentences), found.omitted) == (kept, 5 - kept)
