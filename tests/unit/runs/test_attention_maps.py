"""Attention maps read back as written, to three decimals."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from aiayn.errors import UserError
from aiayn.runs.attention_maps import AttendedSentence, AttentionMaps, read_attention_maps, write_attention_maps


@pytest.fixture
def maps() -> AttentionMaps:
    """Two layers of three heads, two sentences."""
    draw = np.random.default_rng(1)

    def weights(queries: int, keys: int) -> Any:
        return draw.dirichlet(np.ones(keys), size=(2, 3, queries)).astype(np.float32)

    source, target = ["a", "“dog”", "⟨eos⟩"], ["水", "⟨eos⟩"]
    sentences = [
        AttendedSentence(line, source, target, ["⟨bos⟩", "水"], weights(3, 3), weights(2, 2), weights(2, 3))
        for line in (1, 4)
    ]
    return AttentionMaps(checkpoint_step=12, units="words", sentences=sentences)


def test_maps_read_back_as_written(maps: AttentionMaps, tmp_path: Path) -> None:
    path = tmp_path / "attention" / "step-12.json"
    write_attention_maps(path, maps)
    read = read_attention_maps(path)
    assert (read.checkpoint_step, read.units) == (12, "words")
    for one, other in zip(read.sentences, maps.sentences, strict=True):
        for kind in ("encoder", "decoder", "cross"):
            written, original = one.map(kind), other.map(kind)
            assert (written.queries, written.keys) == (original.queries, original.keys)
            assert original.weights.shape == (2, 3, len(original.queries), len(original.keys))
            np.testing.assert_allclose(written.weights, original.weights, rtol=0, atol=0.0005 + 1e-7)
    assert "水" in path.read_text(encoding="utf-8")


def test_numbers_are_short(maps: AttentionMaps, tmp_path: Path) -> None:
    write_attention_maps(tmp_path / "maps.json", maps)
    written: list[str] = []
    json.loads((tmp_path / "maps.json").read_text(encoding="utf-8"), parse_float=written.append)
    assert len(written) == 2 * 2 * 3 * (9 + 4 + 6)
    assert max(map(len, written)) == len("0.123")


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (None, "cannot be read"),
        ("", "holds no attention maps of version 1"),
        ("[]", "holds no attention maps of version 1"),
        ('{"version": 1, "sentences": [{"source": []}]}', "holds no attention maps of version 1"),
        ('{"version": 2}', "holds no attention maps of version 1"),
    ],
)
def test_another_file_is_refused(content: str | None, complaint: str, tmp_path: Path) -> None:
    path = tmp_path / "step-1.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(UserError) as error:
        read_attention_maps(path)
    assert str(error.value).startswith(f"{path}: {complaint}")
