"""What CTranslate2 can hold of ours becomes a model that finds every sentence as likely as ours does."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from exported_models import SPECIAL, TEXT, TINY, TOKENIZER, drawn_model, exported, spec_of
from hypothesis import given, settings
from hypothesis import strategies as st

from aiayn.config.model_schema import Attention, Norm, Normalization, Positions
from aiayn.errors import UserError
from aiayn.inference.export_ctranslate2 import HELD, refuse_what_cannot_be_held, table_length
from aiayn.models.architecture import Architecture
from aiayn.models.transformer import Transformer

ARCHITECTURES = st.builds(
    Architecture,
    d_model=st.sampled_from([8, 12, 16]),
    d_ff=st.integers(1, 30),
    num_layers=st.integers(1, 3),
    num_heads=st.integers(1, 5),
    d_k=st.integers(1, 20),
    d_v=st.integers(1, 20),
    dropout=st.just(0.1),
    positions=st.sampled_from(HELD["positions"]),
    norm=st.sampled_from(["post", "pre"]),
    projection_bias=st.booleans(),
    layer_norm_epsilon=st.sampled_from([1e-6, 1e-2]),
    max_positions=st.just(20),
    tied_embeddings=st.booleans(),
    reads_bos=st.booleans(),
)
SENTENCES = st.lists(st.sampled_from(TEXT), min_size=1, max_size=9)


def likelihoods(model: Transformer, source: list[int], target: list[int]) -> list[float]:
    """Log-probability of each token of a target and of its end, where nothing but text and the end can come."""
    logits = model(torch.tensor([[*source, SPECIAL.eos_id]]), torch.tensor([[SPECIAL.bos_id, *target]]))[0]
    logits = logits[:, : TOKENIZER.vocabulary_size]
    logits = logits.index_fill(1, torch.tensor([SPECIAL.pad_id, SPECIAL.bos_id]), -torch.inf)
    predicted = torch.tensor([*target, SPECIAL.eos_id])
    found: list[float] = logits.log_softmax(-1).gather(1, predicted.unsqueeze(1)).flatten().tolist()
    return found


@torch.inference_mode()
@settings(max_examples=25)
@given(ARCHITECTURES, st.lists(st.tuples(SENTENCES, SENTENCES), min_size=1, max_size=4), st.integers(0, 9))
def test_likelihoods_are_ours(architecture: Architecture, pairs: list[tuple[list[int], list[int]]], seed: int) -> None:
    model = drawn_model(architecture, seed=seed, more_rows=seed % 3)
    pieces = TOKENIZER.pieces
    sources = [[*(pieces[token] for token in source), pieces[SPECIAL.eos_id]] for source, _ in pairs]
    targets = [[pieces[token] for token in target] for _, target in pairs]
    results = exported(model, architecture).score_batch(sources, targets)
    for (source, target), result in zip(pairs, results, strict=True):
        assert result.log_probs == pytest.approx(likelihoods(model, source, target), rel=1e-4, abs=1e-4)


@pytest.mark.parametrize("quantization", ["int8", "float16", "bfloat16"])
def test_fewer_bits_leave_the_model_itself_alone(quantization: str, tmp_path: Path) -> None:
    model = drawn_model(TINY, seed=1)
    before = {name: weight.clone() for name, weight in model.state_dict().items()}
    spec_of(model, TINY).save(str(tmp_path))
    size = (tmp_path / "model.bin").stat().st_size
    spec_of(model, TINY, quantization=quantization).save(str(tmp_path))
    assert all(torch.equal(weight, before[name]) for name, weight in model.state_dict().items())
    assert (tmp_path / "model.bin").stat().st_size < size


def test_sinusoids_make_a_longer_table_than_learned_positions() -> None:
    assert table_length(replace(TINY, positions="learned")) == TINY.max_positions < table_length(TINY)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        *(("attention", value) for value in Attention),
        *(("positions", value) for value in Positions),
        *(("norm", value) for value in Norm),
        *(("normalization", value) for value in Normalization),
        ("residual", True),
        ("residual", False),
    ],
)
def test_what_cannot_be_held_is_named(key: str, value: object) -> None:
    changed = replace(TINY, **{key: value})  # type: ignore[arg-type]
    if value in HELD.get(key, (value,)):
        refuse_what_cannot_be_held(changed, setting="x")
        return
    with pytest.raises(UserError, match=rf"^x: CTranslate2 has no model\.{key}={str(value).lower()}, only"):
        refuse_what_cannot_be_held(changed, setting="x")
