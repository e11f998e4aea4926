"""An exported model gives every sentence the likelihood that ours gives it."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import ctranslate2
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny import ARCHITECTURE
from torch import nn

from aiayn.builders.models import create_transformer
from aiayn.config.model_schema import Attention, Norm, Normalization, Positions, TransformerConfig
from aiayn.data.tokenizer import SubwordTokenizer
from aiayn.data.vocabulary import AnyTokenizer, start_id
from aiayn.errors import UserError
from aiayn.extensions.foreign.export_ctranslate2 import SUPPORTED, check_supported, table_length, transformer_spec
from aiayn.extensions.parsing.symbols import SymbolTokenizer
from aiayn.flat_tokens import FlatTokens
from aiayn.models.transformer import Transformer

TOKENIZER = SubwordTokenizer.train(["a cat sees the dog"] * 3, vocabulary_size=270)
PAD, BOS, EOS = TOKENIZER.pad_id, TOKENIZER.bos_id, TOKENIZER.eos_id
TEXT = range(3, TOKENIZER.vocabulary_size)
"""Ids of text tokens."""

SMALL = replace(ARCHITECTURE, dropout=0.1, max_positions=20)
ARCHITECTURES = st.builds(
    partial(replace, SMALL),
    d_model=st.sampled_from([8, 12, 16]),
    d_ff=st.integers(1, 30),
    num_layers=st.integers(1, 3),
    num_heads=st.integers(1, 5),
    d_k=st.integers(1, 20),
    d_v=st.integers(1, 20),
    dropout=st.just(0.1),
    positions=st.sampled_from(SUPPORTED["positions"]),
    norm=st.sampled_from(["post", "pre"]),
    projection_bias=st.booleans(),
    layer_norm_epsilon=st.sampled_from([1e-6, 1e-2]),
    max_positions=st.just(20),
    tied_embeddings=st.booleans(),
    activation=st.sampled_from(["relu", "swish"]),
    output_bias=st.booleans(),
    decoder_start=st.sampled_from(["bos", "eos", "pad", "zeros"]),
    position_offset=st.integers(0, 3),
    target_space_embedding=st.booleans(),
)
SENTENCES = st.lists(st.sampled_from(TEXT), min_size=1, max_size=9)


def drawn_model(
    architecture: TransformerConfig, *, seed: int, more_rows: int = 0, tokenizer: AnyTokenizer = TOKENIZER
) -> Transformer:
    """A model in evaluation mode with random biases and gains, so that errors in them show."""
    torch.manual_seed(seed)
    model = create_transformer(architecture, rows=tokenizer.vocabulary_size + more_rows).eval()
    for parameter in model.parameters():
        if parameter.dim() == 1:
            nn.init.normal_(parameter, mean=float(parameter.detach().mean()), std=0.3)
    return model


def spec_of(
    model: Transformer,
    architecture: TransformerConfig,
    *,
    quantization: str = "float32",
    tokenizer: AnyTokenizer = TOKENIZER,
) -> Any:
    """The model's specification, ready to be saved."""
    spec = transformer_spec(
        model.state_dict(), architecture, pieces=tokenizer.pieces, pad_id=PAD, bos_id=BOS, eos_id=EOS
    )
    spec.validate()
    spec.optimize(quantization)
    return spec


def likelihoods(model: Transformer, source: list[int], target: list[int], *, entries: int) -> list[float]:
    """Log-probability of each target token and the end mark; pad and bos are excluded."""
    start = start_id(TOKENIZER, model.target_start)
    logits = model(FlatTokens.of([[*source, EOS]]), FlatTokens.of([[start, *target]]))[:, :entries]
    logits = logits.index_fill(1, torch.tensor([PAD, BOS]), -torch.inf)
    predicted = torch.tensor([*target, EOS])
    found: list[float] = logits.log_softmax(-1).gather(1, predicted.unsqueeze(1)).flatten().tolist()
    return found


def check_likelihoods(
    model: Transformer,
    architecture: TransformerConfig,
    pairs: list[tuple[list[int], list[int]]],
    tokenizer: AnyTokenizer,
    *,
    quantization: str = "float32",
    tolerance: float = 1e-4,
) -> None:
    """Compare an exported model with ours on pairs of token ids."""
    pieces = tokenizer.pieces
    sources = [[*(pieces[token] for token in source), pieces[EOS]] for source, _ in pairs]
    targets = [[pieces[token] for token in target] for _, target in pairs]
    with TemporaryDirectory() as folder:
        spec_of(model, architecture, quantization=quantization, tokenizer=tokenizer).save(folder)
        results = ctranslate2.Translator(folder, intra_threads=1).score_batch(sources, targets)
    for (source, target), result in zip(pairs, results, strict=True):
        expected = likelihoods(model, source, target, entries=tokenizer.vocabulary_size)
        assert result.log_probs == pytest.approx(expected, rel=tolerance, abs=tolerance)


@torch.inference_mode()
@settings(max_examples=25)
@given(ARCHITECTURES, st.lists(st.tuples(SENTENCES, SENTENCES), min_size=1, max_size=4), st.integers(0, 9))
def test_likelihoods_are_equal(
    architecture: TransformerConfig, pairs: list[tuple[list[int], list[int]]], seed: int
) -> None:
    model = drawn_model(architecture, seed=seed, more_rows=seed % 3)
    check_likelihoods(model, architecture, pairs, TOKENIZER)


@torch.inference_mode()
def test_symbols_spelled_like_special_tokens_are_symbols() -> None:
    words = ["⟨pad⟩", "⟨bos⟩", "⟨eos⟩", "⟨unk⟩", "⟨unk-LC⟩", "<s>", "</s>", "<unk>", "<blank>", "\x00", "(S", "XX"]
    tokenizer = SymbolTokenizer.train([([" ".join(words)], ["(S XX )"])], vocabulary_size=40)
    encoded = tokenizer.encode_batch(words)
    assert len({tuple(ids) for ids in encoded}) > 2
    pairs = [(ids, ids) for ids in encoded]
    check_likelihoods(drawn_model(SMALL, seed=1, tokenizer=tokenizer), SMALL, pairs, tokenizer)


@torch.inference_mode()
def test_int8_likelihoods_are_close() -> None:
    pairs = [([*range(3, 3 + length)], [*range(8, 8 + length)]) for length in (1, 4, 9)]
    check_likelihoods(drawn_model(SMALL, seed=1), SMALL, pairs, TOKENIZER, quantization="int8", tolerance=0.3)


@pytest.mark.parametrize("quantization", ["int8", "float16", "bfloat16"])
def test_quantization_does_not_change_the_model(quantization: str, tmp_path: Path) -> None:
    model = drawn_model(SMALL, seed=1)
    before = {name: weight.clone() for name, weight in model.state_dict().items()}
    spec_of(model, SMALL).save(str(tmp_path))
    size = (tmp_path / "model.bin").stat().st_size
    spec_of(model, SMALL, quantization=quantization).save(str(tmp_path))
    assert all(torch.equal(weight, before[name]) for name, weight in model.state_dict().items())
    assert (tmp_path / "model.bin").stat().st_size < size


def test_a_table_of_sinusoids_is_longer_than_learned_positions() -> None:
    assert table_length(replace(SMALL, positions="learned")) == SMALL.max_positions < table_length(SMALL)


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
def test_unsupported_settings_are_named(key: str, value: object) -> None:
    changed = replace(SMALL, **{key: value})  # type: ignore[arg-type]
    if value in SUPPORTED.get(key, (value,)):
        check_supported(changed, setting="x")
        return
    with pytest.raises(UserError, match=rf"^x: CTranslate2 does not support model\.{key}={str(value).lower()}, only"):
        check_supported(changed, setting="x")
