"""Contenders of the training contest that need nothing but our own environment."""

import math
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from aiayn.data.batches.collation import TranslationBatch
from aiayn.models.kernels import matmul
from token_batches import PAD, PaddedBatch, read_batches, read_padded, trainer

GEMM_SIZE = 2048
GEMM_SECONDS = 0.4
"""How long a round of products takes at least."""


def aiayn(
    *, batches: str, config: str, keep_memory: bool, is_half: bool = False, **_: object
) -> Callable[[int], float]:
    """The step of `aiayn train` in a bare loop, without Lightning's.

    Args:
        batches: what to train on.
        config: a frozen configuration of training.
        keep_memory: whether to set up the C allocator as a run does.
        is_half: whether to train as with trainer.precision=bf16-mixed.
    """
    from pytorch_lightning import Trainer

    from aiayn.builders.models import build_model
    from aiayn.builders.training import build_module
    from aiayn.config.freeze import load_config
    from aiayn.system import allocator

    if keep_memory:
        allocator.keep_memory()
    settings = load_config(Path(config))
    rows = settings.model.vocabulary_rows
    assert rows is not None
    module = build_module(settings, build_model(settings, vocabulary_size=rows), data_fingerprint="")
    module.trainer = Trainer(accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False)
    module.train()
    module.on_train_start()
    optimizer = module.configure_optimizers()["optimizer"]
    assert isinstance(optimizer, torch.optim.Optimizer)

    def loss(batch: TranslationBatch) -> Tensor:
        module.on_train_batch_start(batch, 0)
        with torch.autocast("cpu", torch.bfloat16, enabled=is_half, cache_enabled=False):
            return module.training_step(batch)

    return trainer(loss, optimizer, read_batches(batches))


def plain_torch(*, batches: str, sizes: Mapping[str, Any], **_: object) -> Callable[[int], float]:
    """`torch.nn.Transformer` in the loop that its tutorials have.

    Args:
        batches: what to train on.
        sizes: of the model, by the names of `aiayn.config.model_schema`, and `vocabulary_size`.
    """
    model = _PlainTransformer(sizes).train()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, betas=(0.9, 0.98), eps=1e-9)
    criterion = nn.CrossEntropyLoss(ignore_index=PAD, label_smoothing=sizes["label_smoothing"])

    def loss(batch: PaddedBatch) -> Tensor:
        logits = model(batch.source, batch.target_input)
        result: Tensor = criterion(logits.flatten(0, 1), batch.target_output.flatten())
        return result

    return trainer(loss, optimizer, read_padded(batches))


class _PlainTransformer(nn.Module):
    """`nn.Transformer` with what it lacks: embeddings, positions and the output layer, one matrix for all three."""

    def __init__(self, sizes: Mapping[str, Any]) -> None:
        super().__init__()
        self.width = sizes["d_model"]
        self.embedding = nn.Embedding(sizes["vocabulary_size"], self.width, padding_idx=PAD)
        nn.init.normal_(self.embedding.weight, std=self.width**-0.5)
        self.transformer = nn.Transformer(
            d_model=self.width,
            nhead=sizes["num_heads"],
            num_encoder_layers=sizes["num_layers"],
            num_decoder_layers=sizes["num_layers"],
            dim_feedforward=sizes["d_ff"],
            dropout=sizes["dropout"],
            batch_first=True,
        )
        self.dropout = nn.Dropout(sizes["dropout"])
        self.output = nn.Linear(self.width, sizes["vocabulary_size"], bias=False)
        self.output.weight = self.embedding.weight
        angles = torch.arange(1024.0)[:, None] * torch.exp(
            torch.arange(0, self.width, 2) * (-math.log(10_000.0) / self.width)
        )
        self.register_buffer("positions", torch.stack([angles.sin(), angles.cos()], -1).flatten(1))

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        """Logits `[batch, target_len, vocabulary_size]`; here `True` in a mask hides, as in torch."""
        length = target.shape[1]
        states = self.transformer(
            self._embed(source),
            self._embed(target),
            tgt_mask=torch.ones(length, length, dtype=torch.bool).triu(1),
            src_key_padding_mask=source == PAD,
            tgt_key_padding_mask=target == PAD,
            memory_key_padding_mask=source == PAD,
        )
        result: Tensor = self.output(states)
        return result

    def _embed(self, tokens: Tensor) -> Tensor:
        positions = self.get_buffer("positions")[: tokens.shape[1]]
        result: Tensor = self.dropout(self.embedding(tokens) * math.sqrt(self.width) + positions)
        return result


def gemm(*, library: str, **_: object) -> Callable[[int], float]:
    """Products of square matrices, the ceiling of all others; its work is counted in floating-point operations.

    Args:
        library: "torch" for `torch.mm`, "aiayn" for what multiplies in our steps.
    """
    left, right = (torch.rand(GEMM_SIZE, GEMM_SIZE) for _ in range(2))
    libraries: dict[str, Callable[[Tensor, Tensor], Tensor]] = {"torch": torch.mm, "aiayn": matmul.linear}
    multiply = libraries[library]

    @torch.no_grad()
    def turn(_: int) -> float:
        done, began = 0, time.perf_counter()
        while time.perf_counter() - began < GEMM_SECONDS:
            multiply(left, right)
            done += 1
        return done * 2.0 * GEMM_SIZE**3

    return turn
