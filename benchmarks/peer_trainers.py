"""Contenders of the training contest from other people's libraries; they run in the peers' environment."""

from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor, nn

from token_batches import BOS, EOS, PAD, PaddedBatch, read_padded, trainer


def fairseq(*, batches: str, sizes: Mapping[str, Any], **_: object) -> Callable[[int], float]:
    """fairseq's `transformer` with its own criterion."""
    from fairseq.criterions.label_smoothed_cross_entropy import label_smoothed_nll_loss
    from fairseq.models.transformer import TransformerModel, base_architecture

    words = _Words(sizes["vocabulary_size"])
    options = SimpleNamespace(
        encoder_embed_dim=sizes["d_model"],
        encoder_ffn_embed_dim=sizes["d_ff"],
        encoder_layers=sizes["num_layers"],
        encoder_attention_heads=sizes["num_heads"],
        decoder_layers=sizes["num_layers"],
        decoder_attention_heads=sizes["num_heads"],
        dropout=sizes["dropout"],
        share_all_embeddings=True,
    )
    base_architecture(options)
    model = TransformerModel.build_model(options, SimpleNamespace(source_dictionary=words, target_dictionary=words))
    model.train()

    def loss(batch: PaddedBatch) -> Tensor:
        lengths = (batch.source != PAD).sum(1)
        output = model(batch.source, lengths, batch.target_input)
        scores = model.get_normalized_probs(output, log_probs=True).flatten(0, 1)
        epsilon = sizes["label_smoothing"]
        smoothed, _ = label_smoothed_nll_loss(scores, batch.target_output.flatten(), epsilon, ignore_index=PAD)
        result: Tensor = smoothed / batch.num_target_tokens
        return result

    return trainer(loss, _adam(model), read_padded(batches))


def marian_model(sizes: Mapping[str, Any], *, use_cache: bool) -> Any:
    """The paper's architecture as `transformers` has it."""
    from transformers import MarianConfig, MarianMTModel

    width, layers, heads, inner = (sizes[name] for name in ("d_model", "num_layers", "num_heads", "d_ff"))
    config = MarianConfig(
        vocab_size=sizes["vocabulary_size"],
        d_model=width,
        encoder_layers=layers,
        decoder_layers=layers,
        encoder_attention_heads=heads,
        decoder_attention_heads=heads,
        encoder_ffn_dim=inner,
        decoder_ffn_dim=inner,
        activation_function="relu",
        dropout=sizes["dropout"],
        attention_dropout=0.0,
        scale_embedding=True,
        share_encoder_decoder_embeddings=True,
        pad_token_id=PAD,
        bos_token_id=BOS,
        eos_token_id=EOS,
        forced_eos_token_id=None,
        decoder_start_token_id=BOS,
        use_cache=use_cache,
    )
    return MarianMTModel(config)


def marian(*, batches: str, sizes: Mapping[str, Any], **_: object) -> Callable[[int], float]:
    """Hugging Face's `MarianMTModel` in a bare loop."""
    model = marian_model(sizes, use_cache=False).train()
    criterion = nn.CrossEntropyLoss(ignore_index=PAD, label_smoothing=sizes["label_smoothing"])

    def loss(batch: PaddedBatch) -> Tensor:
        logits = model(
            input_ids=batch.source, attention_mask=(batch.source != PAD).long(), decoder_input_ids=batch.target_input
        ).logits
        result: Tensor = criterion(logits.flatten(0, 1), batch.target_output.flatten())
        return result

    return trainer(loss, _adam(model), read_padded(batches))


def x_transformers(*, batches: str, sizes: Mapping[str, Any], **_: object) -> Callable[[int], float]:
    """x-transformers' encoder and decoder with flash attention."""
    from x_transformers import Decoder, Encoder, TransformerWrapper

    common = {
        "dim": sizes["d_model"],
        "depth": sizes["num_layers"],
        "heads": sizes["num_heads"],
        "attn_dim_head": sizes["d_model"] // sizes["num_heads"],
        "ff_mult": sizes["d_ff"] / sizes["d_model"],
        "layer_dropout": 0.0,
        "ff_dropout": sizes["dropout"],
        "attn_flash": True,
        "pre_norm": False,
    }
    text = {"num_tokens": sizes["vocabulary_size"], "max_seq_len": 1024, "emb_dropout": sizes["dropout"]}
    encoder = TransformerWrapper(**text, attn_layers=Encoder(**common), return_only_embed=True)
    decoder = TransformerWrapper(**text, attn_layers=Decoder(**common, cross_attend=True), tie_embedding=True)
    decoder.token_emb = encoder.token_emb
    model = nn.ModuleList([encoder, decoder]).train()
    criterion = nn.CrossEntropyLoss(ignore_index=PAD, label_smoothing=sizes["label_smoothing"])

    def loss(batch: PaddedBatch) -> Tensor:
        mask = batch.source != PAD
        memory = encoder(batch.source, mask=mask, return_embeddings=True)
        logits = decoder(batch.target_input, context=memory, context_mask=mask)
        result: Tensor = criterion(logits.flatten(0, 1), batch.target_output.flatten())
        return result

    return trainer(loss, _adam(model), read_padded(batches))


def _adam(model: nn.Module) -> torch.optim.Optimizer:
    return torch.optim.Adam(model.parameters(), lr=1e-4, betas=(0.9, 0.98), eps=1e-9)


class _Words:
    """What fairseq asks of a dictionary."""

    def __init__(self, size: int) -> None:
        self._size = size

    def __len__(self) -> int:
        return self._size

    def pad(self) -> int:
        return PAD

    def bos(self) -> int:
        return BOS

    def eos(self) -> int:
        return EOS

    def unk(self) -> int:
        return 3
