"""Marian models of the library transformers: a folder with config.json, weights and vocab.json.

The decoder's first input is the pad; all projections and the output layer have biases. Positions are the paper's
sinusoids with all sines before all cosines, so the converter puts the coordinates of all states in the paper's order.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from aiayn.config.model_schema import Activation, DecoderStart, Norm, Positions
from aiayn.data.given_pieces import GivenTokenizer, SpecialIds
from aiayn.errors import UserError
from aiayn.extensions.foreign.model import (
    SIDES,
    UNKNOWN_LANGUAGE,
    ForeignModel,
    check_settings,
    parts_of,
    search_of,
    shared,
)
from aiayn.extensions.foreign.pickled import NAMED, read_pickled
from aiayn.extensions.foreign.state import ForeignState, layers, named_tensors
from aiayn.system import files
from aiayn.system.documents import parse_json
from aiayn.system.extras import require

LIBRARY = "marian"

ACTIVATIONS = {"relu": Activation.relu, "swish": Activation.swish, "silu": Activation.swish}

DEFAULTS: Mapping[str, Any] = {
    "dropout": 0.1,
    "attention_dropout": 0.0,
    "activation_dropout": 0.0,
    "max_position_embeddings": 1024,
    "scale_embedding": False,
    "share_encoder_decoder_embeddings": True,
    "pad_token_id": 58100,
    "eos_token_id": 0,
    "decoder_start_token_id": 58100,
}
"""Defaults of `MarianConfig`, for files that leave settings out; sizes are always stated."""

SIZES = ("layers", "ffn_dim", "attention_heads")
"""Of encoder and decoder, which are one setting here."""

UNKNOWN = "<unk>"

SPECIAL = ("pad_token_id", "eos_token_id", "decoder_start_token_id")

VOCABULARY = "vocab.json"

SAFETENSORS, PICKLED = "model.safetensors", "pytorch_model.bin"


def read_marian(folder: Path) -> ForeignModel:
    """The model of a folder.

    Raises:
        UserError: a file cannot be read, or the model has another structure than ours.
    """
    stated = _json(folder, "config.json")
    config = {**DEFAULTS, **{name: value for name, value in stated.items() if value is not None}}
    generation = config | _json(folder, "generation_config.json", may_lack=True)
    names = _json(folder, "tokenizer_config.json", may_lack=True)
    if config.get("model_type") != "marian":
        raise UserError(
            f"checkpoint={folder}: model_type={config.get('model_type')} in config.json; marian is imported"
        )
    for settings, name in ((config, "config.json"), (generation, "generation_config.json")):
        check_settings(settings, f"checkpoint={folder}: {name}")
    num_layers, inner, heads = _sizes(config, folder)
    weights_file = next((folder / name for name in (SAFETENSORS, PICKLED) if files.is_file(folder / name)), None)
    if weights_file is None:
        raise UserError(f"checkpoint={folder}: has neither {SAFETENSORS} nor {PICKLED}; download one of them")
    pieces = _pieces(folder)
    pad, eos, start = (_id(config, name, pieces, folder) for name in SPECIAL)
    source, target = (str(names.get(f"{side}_lang") or UNKNOWN_LANGUAGE) for side in ("source", "target"))
    return ForeignModel(
        library=LIBRARY,
        weights=converted(_tensors(weights_file), folder, num_layers=num_layers),
        model={
            **parts_of(d_model=config["d_model"], d_ff=inner, num_layers=num_layers, num_heads=heads),
            "positions": Positions.sinusoidal,
            "position_offset": 0,
            "norm": Norm.post,
            "dropout": config["dropout"],
            "attention_dropout": config["attention_dropout"],
            "activation": ACTIVATIONS[config["activation_function"]],
            "activation_dropout": config["activation_dropout"],
            "tied_embeddings": True,
            "output_bias": True,
            "decoder_start": DecoderStart.eos if start == eos else DecoderStart.pad,
            "max_positions": config["max_position_embeddings"],
        },
        decoding=search_of(beam_size=generation.get("num_beams") or 1, alpha=generation.get("length_penalty") or 1.0),
        tokenizer=GivenTokenizer(
            pieces, special=SpecialIds(pad=pad, bos=pad, eos=eos, unk=pieces.index(UNKNOWN)), marker="sentencepiece"
        ),
        languages=(source, target),
        weights_file=weights_file,
        vocabulary_file=VOCABULARY,
    )


def converted(tensors: Mapping[str, Tensor], path: Path, *, num_layers: int) -> dict[str, Tensor]:
    """Weights by our names, from those of `MarianMTModel`; the map is linear, so it serves gradients too."""
    state = ForeignState(tensors, path)
    embedding = state.take("model.shared.weight")
    weights = {"embedding.weight": embedding}
    if BIAS in state:  # a buffer there, so gradients lack it
        weights["output_bias"] = state.take(BIAS).flatten()
    for side in SIDES:
        weights |= layers(state, f"model.{side}", side, num_layers=num_layers)
        state.leave_out(f"model.{side}.embed_positions.weight")
    state.leave_out(*REPEATED)
    state.check_empty()
    return _interleaved(weights, d_model=embedding.shape[1])


BIAS = "final_logits_bias"

REPEATED = ("model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight", "lm_head.weight")
"""Further names of the one embedding matrix."""


def _interleaved(weights: Mapping[str, Tensor], *, d_model: int) -> dict[str, Tensor]:
    """The same model with the coordinates of its states in another order: sine, cosine, sine and so on.

    Only positions depend on the order of coordinates. It changes the columns of matrices that are applied to states,
    and the rows of those that compute them, of their biases, and of normalisations.
    """
    order = torch.arange(d_model).view(2, -1).t().flatten()
    found: dict[str, Tensor] = {}
    for name, weight in weights.items():
        if ".output." in name or "_residual.norm." in name:
            found[name] = weight[order]
        else:
            found[name] = weight[:, order] if weight.dim() == 2 else weight
    return found


def _sizes(config: Mapping[str, Any], folder: Path) -> list[int]:
    """`SIZES` of both sides; UserError if they differ, or for settings that our model does not have."""
    needed = ["d_model", "activation_function", *(f"{side}_{name}" for side in SIDES for name in SIZES)]
    if lacking := [name for name in needed if name not in config]:
        raise UserError(f"checkpoint={folder}: config.json has no {lacking[0]}")
    sizes: list[int] = [shared(config, name, f"checkpoint={folder}") for name in SIZES]
    if config["activation_function"] not in ACTIVATIONS:
        allowed = ", ".join(ACTIVATIONS)
        raise UserError(
            f"checkpoint={folder}: activation_function={config['activation_function']}; imported: {allowed}"
        )
    for name in ("scale_embedding", "share_encoder_decoder_embeddings"):
        if not config[name]:
            raise UserError(f"checkpoint={folder}: {name}=false in config.json is not imported")
    start = config["decoder_start_token_id"]
    if start not in (config["pad_token_id"], config["eos_token_id"]):
        raise UserError(f"checkpoint={folder}: decoder_start_token_id={start} is neither the pad nor the end mark")
    return sizes


def _pieces(folder: Path) -> list[str]:
    """The vocabulary by id; UserError if the ids are not 0, 1, 2, ..., or the unknown piece is missing."""
    ids = _json(folder, VOCABULARY)
    if not all(type(each) is int for each in ids.values()) or sorted(ids.values()) != [*range(len(ids))]:
        raise UserError(f"checkpoint={folder}: the ids in {VOCABULARY} are not 0 to {len(ids) - 1}; download it again")
    if UNKNOWN not in ids:
        raise UserError(f"checkpoint={folder}: {VOCABULARY} has no {UNKNOWN}; download it again")
    return sorted(ids, key=lambda piece: ids[piece])


def _id(config: Mapping[str, Any], name: str, pieces: Sequence[str], folder: Path) -> int:
    """The id of a special token; UserError if the vocabulary lacks it."""
    found: int = config[name]
    if found not in range(len(pieces)):
        raise UserError(
            f"checkpoint={folder}: {name}={found} in config.json is no id of {VOCABULARY}; download both again"
        )
    return found


def _tensors(path: Path) -> Mapping[str, Tensor]:
    if path.name == PICKLED:
        return named_tensors(read_pickled(path), f"checkpoint={path}")
    require("safetensors", extra="safetensors", setting=f"checkpoint={path}")
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        weights: Mapping[str, Tensor] = load_file(path)
    except SafetensorError as error:
        place = f"checkpoint={path.parent}: {path.name}"
        raise UserError(f"{place} cannot be read ({error}); download it again") from None
    return weights


def _json(folder: Path, name: str, *, may_lack: bool = False) -> dict[str, Any]:
    try:
        content = parse_json(files.read_text(folder / name), name, remedy="download it again")
    except FileNotFoundError:
        if may_lack:
            return {}
        raise UserError(f"checkpoint={folder}: has no {name}, so it is no model of Marian; {NAMED}") from None
    except UserError as error:
        raise UserError(f"checkpoint={folder}: {error}") from None
    if not isinstance(content, dict):
        raise UserError(f"checkpoint={folder}: {name} is not a JSON object; download it again")
    return content
