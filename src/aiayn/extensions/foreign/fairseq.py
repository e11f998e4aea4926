"""Transformers of fairseq: a checkpoint of its trainer, and the dictionaries beside it.

fairseq's positions are blocks of sines and cosines, counted from 2 since row 1 of its table is that of pads; its
decoder's first input is the end mark; its search divides by a power of the length.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch import Tensor

from aiayn.config.model_schema import Activation, DecoderStart, Norm, Positions
from aiayn.data.given_pieces import SPECIAL_IDS, GivenTokenizer, read_vocabulary
from aiayn.errors import UserError
from aiayn.extensions.foreign.model import SIDES, ForeignModel, check_settings, parts_of, search_of, shared
from aiayn.extensions.foreign.pickled import plain, read_pickled
from aiayn.extensions.foreign.state import ForeignState, layers, named_tensors
from aiayn.system import files

LIBRARY = "fairseq"

SAME_ON_BOTH_SIDES = ("embed_dim", "ffn_embed_dim", "layers", "attention_heads", "normalize_before")
"""Arguments of encoder and decoder that are one setting here."""

WITHOUT_WEIGHTS: Mapping[str, Any] = {
    "no_scale_embedding": False,
    "no_token_positional_embeddings": False,
    "cross_self_attention": False,
}
"""Arguments that change the function and no weights, with the values that can be imported."""

OLD_NORMS = {
    "encoder": ("self_attn_layer_norm", "final_layer_norm"),
    "decoder": ("self_attn_layer_norm", "encoder_attn_layer_norm", "final_layer_norm"),
}
"""The normalisations of a layer, which files of 2018 name `layer_norms.0` and so on."""


def read_fairseq(path: Path, *, stated: tuple[str | None, str | None] = (None, None)) -> ForeignModel:
    """The model of a checkpoint.

    Args:
        path: the checkpoint.
        stated: languages of source and target, where the checkpoint states none.

    Raises:
        UserError: the file or its dictionaries cannot be read, or the model has another structure than ours.
    """
    content = read_pickled(path)
    weights = named_tensors(content.get("model"), f"checkpoint={path}: its part named model")
    arguments, generation = _arguments(content, path)
    for settings in (arguments, generation):
        check_settings(settings, f"checkpoint={path}")
    for name, value in WITHOUT_WEIGHTS.items():
        if arguments.get(name, value) != value:
            raise UserError(f"checkpoint={path}: was trained with {name}={arguments[name]}, which is not imported")
    width, inner, num_layers, heads, is_pre = (
        shared(arguments, name, f"checkpoint={path}") for name in SAME_ON_BOTH_SIDES
    )
    is_tied, languages = bool(arguments.get("share_all_embeddings")), _languages(arguments, stated, path)
    limits = [arguments.get(f"max_{side}_positions") or 1024 for side in ("source", "target")]
    return ForeignModel(
        library=LIBRARY,
        weights=converted(weights, path, num_layers=num_layers, is_tied=is_tied, is_pre=is_pre),
        model={
            **parts_of(d_model=width, d_ff=inner, num_layers=num_layers, num_heads=heads),
            "positions": Positions.sinusoidal_blocks,
            "position_offset": SPECIAL_IDS.pad + 1,
            "norm": Norm.pre if is_pre else Norm.post,
            "dropout": arguments.get("dropout", 0.0),
            "attention_dropout": arguments.get("attention_dropout", 0.0),
            "activation": _activation(arguments.get("activation_fn", "relu"), path),
            "activation_dropout": arguments.get("activation_dropout") or arguments.get("relu_dropout", 0.0),
            "tied_embeddings": is_tied,
            "decoder_start": DecoderStart.eos,
            "max_positions": min(limits),
        },
        decoding=search_of(beam_size=generation.get("beam", 5), alpha=generation.get("lenpen", 1.0)),
        tokenizer=_tokenizer(path, languages),
        languages=languages,
        weights_file=path,
        vocabulary_file=_dictionary(path, languages[0]).name,
        step=_step(content),
    )


def converted(
    tensors: Mapping[str, Tensor], path: Path, *, num_layers: int, is_tied: bool, is_pre: bool
) -> dict[str, Tensor]:
    """Weights by our names, from those of fairseq's `state_dict`; the map is linear, so it serves gradients too."""
    state = ForeignState(_renamed(tensors), path)
    weights = {"embedding.weight": state.take("encoder.embed_tokens.weight")}
    if not is_tied:
        target = state.take("decoder.embed_tokens.weight")
        # If the output layer has no matrix, it uses that of the decoder's embeddings.
        output = next((name for name in OUTPUTS if name in state), None)
        weights["untied_target_embedding.weight"] = target
        weights["untied_output.weight"] = state.take(output) if output else target.clone()
    state.leave_out("decoder.embed_tokens.weight", *OUTPUTS)
    for side in SIDES:
        weights |= layers(state, side, side, num_layers=num_layers)
        if is_pre:
            weights |= state.take_all({f"{side}.layer_norm": f"{side}_norm"})
        state.leave_out(f"{side}.version", *(f"{side}.embed_positions.{each}" for each in ("weights", "_float_tensor")))
    state.check_empty()
    return weights


OUTPUTS = ("decoder.output_projection.weight", "decoder.embed_out")
"""The output layer's matrix, by its names in later and in earlier files."""


def _renamed(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The names of later files for the weights of earlier ones, which have one matrix for query, key and value."""
    found: dict[str, Tensor] = {}
    for name, tensor in tensors.items():
        place, _, kind = name.rpartition(".in_proj_")
        if place:
            found |= {f"{place}.{each}_proj.{kind}": part for each, part in zip("qkv", tensor.chunk(3), strict=True)}
            continue
        for number, norm in enumerate(OLD_NORMS.get(name.partition(".")[0], ())):
            if f".layer_norms.{number}." in name:
                found[name.replace(f".layer_norms.{number}.", f".{norm}.")] = tensor
                break
        else:
            found[name] = tensor
    return found


def _arguments(content: Mapping[str, Any], path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """The flat arguments of task and model, and those of generation where the file has them."""
    if isinstance(arguments := plain(content.get("args")), dict):
        return arguments, {}
    settings = plain(content.get("cfg"))
    if not isinstance(settings, dict) or not all(isinstance(settings.get(part), dict) for part in ("task", "model")):
        raise UserError(f"checkpoint={path}: not a checkpoint of fairseq (neither args nor cfg state the model)")
    model = settings["model"]
    sides = {
        f"{side}_{name}": value
        for side in SIDES
        if isinstance(model.get(side), dict)
        for name, value in model[side].items()
    }
    return {**settings["task"], **model, **sides}, settings.get("generation") or {}


def _step(content: Mapping[str, Any]) -> int:
    """The optimizer steps of the training; 0 where the file does not count them."""
    history = plain(content.get("optimizer_history"))
    last = history[-1] if isinstance(history, list) and history else {}
    steps = last.get("num_updates") if isinstance(last, dict) else 0
    return steps if type(steps) is int and steps >= 0 else 0


def _languages(arguments: Mapping[str, Any], stated: tuple[str | None, str | None], path: Path) -> tuple[str, str]:
    """Of source and target, which name the dictionaries; UserError if one is stated nowhere."""
    source, target = (
        arguments.get(f"{side}_lang") or language for side, language in zip(("source", "target"), stated, strict=True)
    )
    if not (source and target):
        raise UserError(
            f"checkpoint={path}: states no languages; state source_language= and target_language= as in the names "
            "dict.<language>.txt of the dictionaries beside it"
        )
    for language in map(str, (source, target)):
        if "/" in language or not language.isprintable():
            raise UserError(
                f"checkpoint={path}: {language!r} is no language; state source_language= and target_language="
            )
    return str(source), str(target)


def _activation(name: str, path: Path) -> Activation:
    if name not in ("relu", "swish"):
        raise UserError(f"checkpoint={path}: its activation is {name}; relu and swish are imported")
    return Activation(name)


def _tokenizer(path: Path, languages: tuple[str, str]) -> GivenTokenizer:
    """The vocabulary of dict.<language>.txt beside the checkpoint; UserError if those of both sides differ."""
    dictionaries = [_dictionary(path, language) for language in languages]
    for file in dictionaries:
        if not files.is_file(file):
            raise UserError(f"checkpoint={path}: has no {file.name} beside it; copy the dictionary of its data there")
    source, target = (read_vocabulary(file, f"checkpoint={path}") for file in dictionaries)
    if source != target:
        raise UserError(
            f"checkpoint={path}: {' and '.join(each.name for each in dictionaries)} differ; models with one vocabulary "
            "are imported"
        )
    return GivenTokenizer(source, special=SPECIAL_IDS, marker="subword_nmt" if _has_at(source) else "sentencepiece")


def _has_at(pieces: list[str]) -> bool:
    return any(piece.endswith("@@") for piece in pieces)


def _dictionary(path: Path, language: str) -> Path:
    return path.parent / f"dict.{language}.txt"
