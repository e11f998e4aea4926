"""Measurements of a device that need no run: its products, its agreement with the CPU, a search."""

import dataclasses
import gc
import random
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from statistics import median
from typing import Any

import torch
from torch import Tensor

from aiayn.builders.models import build_model
from aiayn.config.compose import compose_command
from aiayn.config.freeze import to_dataclass
from aiayn.config.model_schema import TransformerConfig
from aiayn.config.schema import TrainConfig
from aiayn.data.batches.sentences import Sentences
from aiayn.flat_tokens import FlatTokens
from aiayn.models.kernels import flat_attention
from aiayn.system.gpu import configure_gpus
from aiayn.training.loss import output_losses
from aiayn.training.scoring import search_all
from searchers import Ids, endless_model
from token_batches import EOS


def product_flops(device: str, size: int) -> float:
    """FLOP/s of products of square matrices of random numbers in bf16."""
    left, right = (torch.rand(size, size, device=device, dtype=torch.bfloat16) for _ in range(2))
    seconds = []
    for _ in range(25):
        wait(device)
        began = time.perf_counter()
        torch.mm(left, right)
        wait(device)
        seconds.append(time.perf_counter() - began)
    return 2.0 * size**3 / median(seconds[5:])


def wait(device: str) -> None:
    """Wait until the device has finished its queued work; RuntimeError if it no longer answers."""
    if device == "cuda":
        torch.cuda.synchronize()


def agreement(words: Sequence[str], device: str) -> dict[str, float]:
    """The largest differences of loss and gradients, relative to the largest value of each gradient.

    In single precision the device is compared with the CPU, in bf16 attention without padding with attention on padded
    tensors; those are the same where `flat_attention` has no kernel for the former.

    Args:
        words: of `aiayn train`, which choose the model.
        device: cuda or cpu.
    """
    config = _config(*words, "model.dropout=0")
    configure_gpus(tf32=False)
    model = build_model(config, vocabulary_size=4000).train()
    draw = random.Random(1)
    source, target = (
        FlatTokens.of([[draw.randrange(3, 4000) for _ in range(draw.randint(5, 40))] for _ in range(24)])
        for _ in range(2)
    )

    def loss_and_gradients(place: str, *, is_half: bool = False) -> tuple[float, list[Tensor]]:
        model.to(place)
        with torch.autocast(place, torch.bfloat16, enabled=is_half):
            states = model.states(source.to(place), target.to(place))
            loss = output_losses(states, model.output_weight, target.ids.to(place), label_smoothing=0.1).smoothed
        gradients = torch.autograd.grad(loss, list(model.parameters()))
        return float(loss.detach()), [each.cpu() for each in gradients]

    single = _differences(loss_and_gradients("cpu"), loss_and_gradients(device))
    with _always_padded():
        padded = loss_and_gradients(device, is_half=True)
    half = _differences(padded, loss_and_gradients(device, is_half=True))
    return {
        "loss, relative": single[0],
        "gradients, relative": single[1],
        "bf16 without padding: loss": half[0],
        "bf16 without padding: gradients": half[1],
    }


def _differences(one: tuple[float, list[Tensor]], other: tuple[float, list[Tensor]]) -> tuple[float, float]:
    """Of two losses, relative to the first, and of gradients, the largest one, relative to the gradient's largest."""
    worst = max(
        float((own - its).abs().max() / own.abs().max().clamp(min=1e-12))
        for own, its in zip(one[1], other[1], strict=True)
    )
    return abs(other[0] - one[0]) / one[0], worst


@contextmanager
def _always_padded() -> Iterator[None]:
    """Without the kernel for flat tensors."""
    types, flat_attention.VARLEN_TYPES = flat_attention.VARLEN_TYPES, ()
    try:
        yield
    finally:
        flat_attention.VARLEN_TYPES = types


def search(
    words: Sequence[str], device: str, *, scale: str, vocabulary_size: int, lengths: Sequence[int], beam: int
) -> dict[str, Any]:
    """Decode random sentences twice with a model like base whose outputs are as long as its inputs.

    Args:
        words: of `aiayn train`, which choose the device; the size of batches follows from them.
        device: cuda or cpu.
        scale: of the model.
        vocabulary_size: rows of its embedding matrix.
        lengths: of the sentences, end marks not counted.
        beam: hypotheses kept per sentence.
    """
    forget(device)
    configure_gpus(tf32=False)
    config = _config("experiment=table3/base", f"scale={scale}", *words)
    assert isinstance(config.model, TransformerConfig)
    model = endless_model(config.model, vocabulary_size=vocabulary_size).to(device)
    draw = random.Random(1)
    tokenizer: Any = Ids(vocabulary_size)
    ids = range(EOS + 1, vocabulary_size)
    texts = Sentences.of([draw.choices(ids, k=length) for length in lengths], eos_id=EOS)
    settings = dataclasses.replace(config.decoding, beam_size=beam, max_extra_length=0)
    for _ in range(2):  # the first time loads kernels
        began = time.perf_counter()
        found = search_all(model, texts, tokenizer, settings, device=torch.device(device))
        seconds = time.perf_counter() - began
    return {
        "sentences": len(lengths),
        "seconds": round(seconds, 2),
        "sentences/s": round(len(lengths) / seconds, 1),
        "target tokens/s": round(sum(len(best.tokens) for best, *_ in found) / seconds),
        "batch tokens": settings.batch_tokens,
    }


def _config(*words: str) -> TrainConfig:
    return to_dataclass(compose_command("train", [*words, "logger=none"]), TrainConfig)


def forget(device: str) -> None:
    """Free what earlier measurements left: tensors, compiled graphs, of which torch keeps eight, and the peak."""
    torch.compiler.reset()
    gc.collect()
    if device == "cuda":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
