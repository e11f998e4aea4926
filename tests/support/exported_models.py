"""Models small enough to be exported for every example."""

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import ctranslate2
import torch
from tiny import ARCHITECTURE
from torch import nn

from aiayn.data.tokenizer import SubwordTokenizer
from aiayn.data.vocabulary import AnyTokenizer
from aiayn.inference.export_ctranslate2 import SpecialTokens, transformer_spec
from aiayn.models.architecture import Architecture
from aiayn.models.transformer import Transformer

TOKENIZER = SubwordTokenizer.train(["a cat sees the dog"] * 3, vocabulary_size=270)
SPECIAL = SpecialTokens(pad_id=TOKENIZER.pad_id, bos_id=TOKENIZER.bos_id, eos_id=TOKENIZER.eos_id)
TEXT = range(3, TOKENIZER.vocabulary_size)
"""Ids of text tokens."""

TINY = replace(ARCHITECTURE, dropout=0.1, max_positions=20)


def drawn_model(
    architecture: Architecture, *, seed: int, more_rows: int = 0, tokenizer: AnyTokenizer = TOKENIZER
) -> Transformer:
    """A model in evaluation mode with random biases and gains, so that errors in them show."""
    torch.manual_seed(seed)
    model = Transformer(architecture, vocabulary_size=tokenizer.vocabulary_size + more_rows).eval()
    for parameter in model.parameters():
        if parameter.dim() == 1:
            nn.init.normal_(parameter, mean=float(parameter.detach().mean()), std=0.3)
    return model


def spec_of(
    model: Transformer,
    architecture: Architecture,
    *,
    quantization: str = "float32",
    tokenizer: AnyTokenizer = TOKENIZER,
) -> Any:
    """The model's specification, ready to be saved."""
    spec = transformer_spec(model.state_dict(), architecture, pieces=tokenizer.pieces, special=SPECIAL)
    spec.validate()
    spec.optimize(quantization)
    return spec


def exported(
    model: Transformer,
    architecture: Architecture,
    *,
    quantization: str = "float32",
    tokenizer: AnyTokenizer = TOKENIZER,
) -> Any:
    """CTranslate2's translator of a model."""
    with TemporaryDirectory() as folder:
        spec_of(model, architecture, quantization=quantization, tokenizer=tokenizer).save(folder)
        return ctranslate2.Translator(str(Path(folder)), intra_threads=1)
