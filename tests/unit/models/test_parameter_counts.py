"""The column of parameters in Table 3, against a formula that knows nothing of the modules."""

from dataclasses import replace

import pytest
import torch
from tiny import ARCHITECTURE

from aiayn.builders.models import create_model
from aiayn.config.model_schema import TransformerConfig
from aiayn.models.translation_model import count_parameters

BASE = replace(
    ARCHITECTURE, d_model=512, d_ff=2048, num_layers=6, num_heads=8, d_k=64, d_v=64, dropout=0.1, max_positions=1024
)
ROWS: dict[str, tuple[TransformerConfig, int | None]] = {  # the printed millions; None: the paper leaves the cell blank
    "base": (BASE, 65),
    "a_h1": (replace(BASE, num_heads=1, d_k=512, d_v=512), None),
    "a_h4": (replace(BASE, num_heads=4, d_k=128, d_v=128), None),
    "a_h16": (replace(BASE, num_heads=16, d_k=32, d_v=32), None),
    "a_h32": (replace(BASE, num_heads=32, d_k=16, d_v=16), None),
    "b_dk16": (replace(BASE, d_k=16), 58),
    "b_dk32": (replace(BASE, d_k=32), 60),
    "c_n2": (replace(BASE, num_layers=2), 36),
    "c_n4": (replace(BASE, num_layers=4), 50),
    "c_n8": (replace(BASE, num_layers=8), 80),
    "c_d256": (replace(BASE, d_model=256, d_k=32, d_v=32), 28),
    "c_d1024": (replace(BASE, d_model=1024, d_k=128, d_v=128), 168),
    "c_ff1024": (replace(BASE, d_ff=1024), 53),
    "c_ff4096": (replace(BASE, d_ff=4096), 90),
    "d_drop0": (replace(BASE, dropout=0.0), None),
    "d_drop02": (replace(BASE, dropout=0.2), None),
    "d_ls0": (BASE, None),
    "d_ls02": (BASE, None),
    "e_learned": (replace(BASE, positions="learned"), None),
    "big": (replace(BASE, d_model=1024, d_ff=4096, num_heads=16, dropout=0.3), 213),
}


def counted(row: TransformerConfig, *, vocabulary_size: int, projection_bias: bool) -> int:
    with torch.device("meta"):
        model = create_model(replace(row, projection_bias=projection_bias), rows=vocabulary_size)
    return count_parameters(model)


def expected(row: TransformerConfig, *, vocabulary_size: int, projection_bias: bool) -> int:
    d, keys, values = row.d_model, row.num_heads * row.d_k, row.num_heads * row.d_v
    attention = 2 * d * keys + 2 * d * values + projection_bias * (2 * keys + values + d)
    feed_forward = 2 * d * row.d_ff + row.d_ff + d
    norm = 2 * d
    encoder_layer, decoder_layer = attention + feed_forward + 2 * norm, 2 * attention + feed_forward + 3 * norm
    positions = 1024 * d if row.positions == "learned" else 0
    return vocabulary_size * d + positions + row.num_layers * (encoder_layer + decoder_layer)


@pytest.mark.parametrize("projection_bias", [True, False])
@pytest.mark.parametrize("vocabulary_size", [37_000, 40_960])
@pytest.mark.parametrize("name", ROWS)
def test_count_is_the_formula(name: str, vocabulary_size: int, projection_bias: bool) -> None:
    row, _ = ROWS[name]
    count = counted(row, vocabulary_size=vocabulary_size, projection_bias=projection_bias)
    assert count == expected(row, vocabulary_size=vocabulary_size, projection_bias=projection_bias)


@pytest.mark.parametrize("name", [name for name, (_, printed) in ROWS.items() if printed])
def test_printed_millions(name: str) -> None:
    """With the authors' 40,960 rows and biased projections ten of eleven printed numbers come out; big does not."""
    row, printed = ROWS[name]
    millions = round(counted(row, vocabulary_size=40_960, projection_bias=True) / 1e6)
    assert millions == (218 if name == "big" else printed)
