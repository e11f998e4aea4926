"""Contenders of the decoding contest. Their random weights never end a sentence before its limit."""

import atexit
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import torch

from aiayn.builders.models import create_transformer
from aiayn.config.model_schema import TransformerConfig
from aiayn.models.transformer import Transformer
from token_batches import BOS, EOS, PAD, random_sentences


class Ids:
    """A tokenizer as a search knows it."""

    pad_id, bos_id, eos_id = PAD, BOS, EOS

    def __init__(self, vocabulary_size: int) -> None:
        self.vocabulary_size = vocabulary_size


def endless_model(architecture: TransformerConfig, *, vocabulary_size: int) -> Transformer:
    """A model that never says eos, so that every search makes as many steps as it is allowed.

    Normalised states have the mean of the last bias: 0.1 in each place. With -1 in each place of eos' embedding its
    logit is a tenth of -d_model.
    """
    torch.manual_seed(1)
    model = create_transformer(architecture, rows=vocabulary_size).eval().requires_grad_(False)
    norms = [module for module in model.decoder.modules() if isinstance(module, torch.nn.LayerNorm)]
    norms[-1].bias.fill_(0.1)
    model.embedding.weight[EOS] = -1.0
    return model


def aiayn(
    *, architecture: Mapping[str, Any], vocabulary_size: int, sentences: int, length: int, beam: int, **_: object
) -> Callable[[int], float]:
    """Our own search, as `aiayn translate` calls it: matrices are packed once. Its work is counted in sentences."""
    from aiayn.config.schema import BeamSearchConfig, EosWithin, LengthPenalty
    from aiayn.models.kernels.matmul import packed
    from aiayn.system import allocator
    from aiayn.training.scoring import search_all

    allocator.keep_memory()
    model = endless_model(TransformerConfig(**architecture), vocabulary_size=vocabulary_size)
    held = ExitStack()
    held.enter_context(packed(model))
    atexit.register(held.close)
    texts = random_sentences(sentences=sentences, length=length, vocabulary_size=vocabulary_size)
    search = BeamSearchConfig(
        beam_size=beam,
        length_penalty=LengthPenalty.gnmt,
        length_penalty_alpha=0.6,
        max_extra_length=0,
        batch_tokens=sentences * length,
        eos_within=EosWithin.candidates,
        constrained=False,
    )
    ids: Any = Ids(vocabulary_size)

    def turn(_: int) -> float:
        found = search_all(model, texts, ids, search, device=torch.device("cpu"))
        assert all(len(best.tokens) >= length - 1 for best, *_ in found), "a sentence has ended early"
        return sentences

    return turn


def ctranslate2(
    *,
    work: str,
    architecture: Mapping[str, Any],
    vocabulary_size: int,
    sentences: int,
    length: int,
    beam: int,
    threads: int,
    compute_type: str,
    **_: object,
) -> Callable[[int], float]:
    """CTranslate2 with the weights that `aiayn export` would write."""
    from ctranslate2 import Translator

    from aiayn.extensions.foreign.export_ctranslate2 import transformer_spec

    sizes = TransformerConfig(**architecture)
    folder = Path(work) / f"ctranslate2-{compute_type}"
    folder.mkdir()
    pieces = [f"w{number}" for number in range(vocabulary_size)]
    spec = transformer_spec(
        endless_model(sizes, vocabulary_size=vocabulary_size).state_dict(),
        sizes,
        pieces=pieces,
        pad_id=PAD,
        bos_id=BOS,
        eos_id=EOS,
    )
    spec.validate()
    spec.optimize(quantization=compute_type)
    spec.save(str(folder))
    translator = Translator(str(folder), device="cpu", compute_type=compute_type, intra_threads=threads)
    texts = random_sentences(sentences=sentences, length=length, vocabulary_size=vocabulary_size)
    words = [[pieces[token] for token in texts.tokens[start : start + length]] for start in texts.offsets[:-1]]

    def turn(_: int) -> float:
        found = translator.translate_batch(
            words, beam_size=beam, max_batch_size=0, max_decoding_length=length, max_input_length=0, length_penalty=0.6
        )
        assert all(len(each.hypotheses[0]) >= length - 1 for each in found), "a sentence has ended early"
        return sentences

    return turn


def marian(
    *, architecture: Mapping[str, Any], vocabulary_size: int, sentences: int, length: int, beam: int, **_: object
) -> Callable[[int], float]:
    """Hugging Face's `generate` with a Marian of the same size and random weights of its own."""
    from peer_trainers import marian_model

    model = marian_model({**architecture, "vocabulary_size": vocabulary_size}, use_cache=True).eval()
    texts = random_sentences(sentences=sentences, length=length, vocabulary_size=vocabulary_size)
    batch = torch.from_numpy(texts.tokens.astype(np.int64)).view(sentences, length)

    def turn(_: int) -> float:
        with torch.inference_mode():
            model.generate(
                input_ids=batch,
                attention_mask=torch.ones_like(batch),
                num_beams=beam,
                do_sample=False,
                min_new_tokens=length,
                max_new_tokens=length,
            )
        return sentences

    return turn
