"""Models of ours in the files of fairseq and of Marian, as `aiayn import` reads them."""

import json
from argparse import Namespace
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from tiny import ARCHITECTURE
from torch import Tensor

from aiayn.builders.models import create_transformer
from aiayn.models.transformer import Transformer

WORDS = [f"w{number}" if number % 2 else f"p{number}@@" for number in range(12)]
"""Of fairseq's dictionary."""

PIECES = ["</s>", "<unk>", *(f"▁w{number}" if number % 2 else f"p{number}" for number in range(12)), "<pad>"]
"""Marian's vocabulary."""

PARTS = {
    "self_attention_residual.norm": "self_attn_layer_norm",
    "cross_attention_residual.norm": "encoder_attn_layer_norm",
    "feed_forward_residual.norm": "final_layer_norm",
    "feed_forward.inner": "fc1",
    "feed_forward.output": "fc2",
    "self_attention.output": "self_attn.out_proj",
    "cross_attention.output": "encoder_attn.out_proj",
}
JOINT = {
    "self_attention.query_key_value": ("self_attn", "qkv"),
    "cross_attention.query": ("encoder_attn", "q"),
    "cross_attention.key_value": ("encoder_attn", "kv"),
}

SIZES: Mapping[str, Any] = {
    "d_model": 16,
    "d_ff": 24,
    "num_layers": 2,
    "num_heads": 4,
    "d_k": 4,
    "d_v": 4,
    "dropout": 0.1,
    "max_positions": 64,
    "norm": "post",
    "projection_bias": True,
    "layer_norm_epsilon": 1e-5,
}


def random_model(vocabulary_size: int, **settings: Any) -> Transformer:
    """A model whose every parameter is drawn."""
    torch.manual_seed(3)
    model = create_transformer(replace(ARCHITECTURE, **{**SIZES, **settings}), rows=vocabulary_size).eval()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.4)
    return model


def write_fairseq(folder: Path, **arguments: Any) -> Transformer:
    """Write model.pt and dictionaries; `arguments` are further ones of fairseq."""
    model = random_model(
        len(WORDS) + 4, positions="sinusoidal_blocks", position_offset=2, decoder_start="eos", activation="relu"
    )
    state = _layers(model.state_dict())
    for side in ("encoder", "decoder"):
        state[f"{side}.embed_tokens.weight"] = model.embedding.weight.detach()
    sides = {"embed_dim": 16, "ffn_embed_dim": 24, "layers": 2, "attention_heads": 4, "normalize_before": False}
    named = {f"{side}_{name}": value for side in ("encoder", "decoder") for name, value in sides.items()}
    own = {"source_lang": "en", "target_lang": "de", "share_all_embeddings": True, "max_source_positions": 64}
    content = {
        "args": Namespace(**{**named, **own, "dropout": 0.1, "arch": "transformer", **arguments}),
        "model": state,
        "optimizer_history": [{"num_updates": 30}],
    }
    torch.save(content, folder / "model.pt")
    for language in ("en", "de"):
        (folder / f"dict.{language}.txt").write_text("".join(f"{word} 1\n" for word in WORDS))
    return model


def write_marian(folder: Path, **settings: Any) -> Transformer:
    """Write the folder of a model; `settings` are further ones of config.json."""
    model = random_model(len(PIECES), positions="sinusoidal", decoder_start="pad", activation="swish", output_bias=True)
    state = {f"model.{name}": value for name, value in _layers(_in_blocks(model.state_dict())).items()}
    state["model.shared.weight"] = _in_blocks({"embedding.weight": model.embedding.weight.detach()})["embedding.weight"]
    assert model.output_bias is not None
    state["final_logits_bias"] = model.output_bias.detach()[None]
    sides = {"ffn_dim": 24, "layers": 2, "attention_heads": 4}
    named = {f"{side}_{name}": value for side in ("encoder", "decoder") for name, value in sides.items()}
    last = len(PIECES) - 1
    config = {
        "model_type": "marian",
        "d_model": 16,
        **named,
        "activation_function": "swish",
        "dropout": 0.1,
        "attention_dropout": 0.0,
        "activation_dropout": 0.0,
        "max_position_embeddings": 64,
        "scale_embedding": True,
        "pad_token_id": last,
        "eos_token_id": 0,
        "decoder_start_token_id": last,
        "num_beams": 6,
        **settings,
    }
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "vocab.json").write_text(json.dumps({piece: number for number, piece in enumerate(PIECES)}))
    save_file({name: value.contiguous() for name, value in state.items()}, folder / "model.safetensors")
    return model


def _layers(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The weights of all layers by fairseq's names."""
    state: dict[str, Tensor] = {}
    for name, value in weights.items():
        if not name.startswith(("encoder.", "decoder.")):
            continue
        side, number, *parts, kind = name.split(".")
        part, place = ".".join(parts), f"{side}.layers.{number}"
        if part in PARTS:
            state[f"{place}.{PARTS[part]}.{kind}"] = value
        elif part in JOINT:
            attention, letters = JOINT[part]
            for letter, share in zip(letters, value.chunk(len(letters)), strict=True):
                state[f"{place}.{attention}.{letter}_proj.{kind}"] = share.clone()
    return state


def _in_blocks(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The same model with its states' coordinates in Marian's order: those of all sines first."""
    order = torch.cat([torch.arange(0, 16, 2), torch.arange(1, 16, 2)])
    writes = (".output.", "norm.")
    return {
        name: value[order] if any(mark in name for mark in writes) else value[:, order] if value.dim() == 2 else value
        for name, value in weights.items()
    }
