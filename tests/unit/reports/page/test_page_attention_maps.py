"""Attention maps become small and stay what they are."""

import base64
import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from aiayn.config.errors import UserError
from aiayn.reports.page import attention_maps
from aiayn.reports.page.attention_maps import LEVELS, read_attention

SOURCE, TARGET = ["A", "dog", "⟨eos⟩"], ["Ein", "Hund", "⟨eos⟩", "."]
LAYERS, HEADS = 2, 3


def weights(queries: int, keys: int) -> list[Any]:
    drawn = np.random.default_rng(queries * keys).random((LAYERS, HEADS, queries, keys))
    softmax: list[Any] = (drawn / drawn.sum(-1, keepdims=True)).tolist()
    return softmax


def sentence() -> dict[str, Any]:
    return {
        "source": SOURCE,
        "target": TARGET,
        "encoder": weights(3, 3),
        "decoder": weights(4, 4),
        "cross": weights(4, 3),
    }


def write(folder: Path, step: int, **changes: Any) -> None:
    folder.mkdir(exist_ok=True)
    content = {"version": 1, "checkpoint_step": step, "sentences": [sentence()]} | changes
    (folder / f"step-{step}.json").write_text(json.dumps(content))


def test_weights_come_back_to_half_a_level(tmp_path: Path) -> None:
    write(tmp_path / "attention", 9)
    write(tmp_path / "attention", 10)
    maps = read_attention(tmp_path / "attention")
    assert maps is not None
    assert maps.step == 10  # by number, not by name
    (shown,) = maps.sentences
    assert (shown.source, shown.target, shown.read) == (tuple(SOURCE), tuple(TARGET), tuple(TARGET))
    for kind, packed in shown.weights.items():
        written = np.array(sentence()[kind])
        levels = np.frombuffer(gzip.decompress(base64.b64decode(packed.packed)), dtype=np.uint8)
        assert (packed.layers, packed.heads) == (LAYERS, HEADS)
        assert np.abs(levels.reshape(written.shape) / LEVELS - written).max() <= 0.5 / LEVELS + 1e-9


def test_a_run_without_maps_has_none(tmp_path: Path) -> None:
    assert read_attention(tmp_path / "attention") is None


@pytest.mark.parametrize(
    "changes", [{"version": 2}, {"sentences": [{}]}, {"sentences": [sentence() | {"cross": weights(3, 4)}]}]
)
def test_what_is_no_map_is_refused_in_one_line(changes: dict[str, Any], tmp_path: Path) -> None:
    write(tmp_path, 3, **changes)
    with pytest.raises(UserError, match=r"step-3\.json: ") as caught:
        read_attention(tmp_path)
    assert "\n" not in str(caught.value)


def test_what_would_make_the_page_large_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, 3, sentences=[sentence() for _ in range(5)])
    maps = read_attention(tmp_path)
    assert maps is not None
    assert (len(maps.sentences), maps.omitted) == (5, 0)
    size = sum(len(each.packed) for each in maps.sentences[0].weights.values())
    for most, kept in ((3 * size, 3), (3 * size - 1, 2), (1, 1)):
        monkeypatch.setattr(attention_maps, "MOST_BYTES", most)
        maps = read_attention(tmp_path)
        assert maps is not None
        assert (len(maps.sentences), maps.omitted) == (kept, 5 - kept)
