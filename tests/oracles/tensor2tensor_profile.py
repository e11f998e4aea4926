"""The profile `tensor2tensor_2017` in the form of the authors' code: settings, names of variables, padded arrays."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import tensor2tensor as t2t
import torch
from numpy.typing import NDArray
from tape import Array, Node
from torch import Tensor, nn

from aiayn.builders.models import create_model
from aiayn.builders.sizes import embedding_rows
from aiayn.config.model_schema import TransformerConfig
from aiayn.config.schema import TrainConfig
from aiayn.flat_tokens import Layout
from aiayn.models.transformer import Transformer

PROFILE = ("scale=paper", "fidelity=tensor2tensor_2017")
TINY = (
    "model.d_model=16",
    "model.d_ff=24",
    "model.num_layers=2",
    "model.num_heads=4",
    "model.vocabulary_rows=29",
    "optimization.warmup_steps=10",
    "trainer.accelerator=cpu",
)
VOCABULARY = 32000
"""Settings of profiles with a row for each entry."""


def hparams_of(config: TrainConfig) -> t2t.HParams:
    """The settings of the authors' code for a configuration of ours; others keep their defaults there."""
    model, recipe, search = config.model, config.optimization, config.decoding
    assert isinstance(model, TransformerConfig)
    keys, values = (model.num_heads * width for width in (model.d_k, model.d_v))
    return t2t.HParams(
        hidden_size=model.d_model,
        filter_size=model.d_ff,
        num_hidden_layers=model.num_layers,
        num_heads=model.num_heads,
        attention_key_channels=0 if keys == model.d_model else keys,
        attention_value_channels=0 if values == model.d_model else values,
        residual_dropout=model.dropout,
        attention_dropout=model.attention_dropout,
        relu_dropout=model.activation_dropout,
        label_smoothing=recipe.label_smoothing,
        learning_rate=0.1 * recipe.learning_rate_factor,
        learning_rate_warmup_steps=recipe.warmup_steps,
        optimizer_adam_beta1=recipe.adam_beta1,
        optimizer_adam_beta2=recipe.adam_beta2,
        optimizer_adam_epsilon=recipe.adam_epsilon,
        shared_embedding_and_softmax_weights=model.tied_embeddings,
        vocab_size=embedding_rows(model, vocabulary_size=0) or VOCABULARY,
        decode_beam_size=search.beam_size,
        decode_alpha=search.length_penalty_alpha,
        decode_extra_length=search.max_extra_length,
    )


EMBEDDINGS = {
    "embedding.weight": "input_emb",
    "untied_target_embedding.weight": "target_emb",
    "untied_output.weight": "softmax",
    "target_space": "target_space_embedding",
}
MODULES = {
    "self_attention.query_key_value": "self_attention/qkv_transform",
    "self_attention.output": "self_attention/output_transform",
    "self_attention_residual.norm": "self_attention/layer_norm",
    "cross_attention.query": "encdec_attention/q_transform",
    "cross_attention.key_value": "encdec_attention/kv_transform",
    "cross_attention.output": "encdec_attention/output_transform",
    "cross_attention_residual.norm": "encdec_attention/layer_norm",
    "feed_forward.inner": "ffn/conv1",
    "feed_forward.output": "ffn/conv2",
    "feed_forward_residual.norm": "ffn/layer_norm",
}


def variable_of(parameter: str) -> str:
    """The authors' name of one of our parameters."""
    if parameter in EMBEDDINGS:
        return EMBEDDINGS[parameter]
    stack, layer, *path, kind = parameter.split(".")
    module = MODULES[".".join(path)]
    if kind == "weight":
        kind = "scale" if module.endswith("layer_norm") else "kernel"
    return f"{stack}/layer_{layer}/{module}/{kind}"


def their_form(values: Mapping[str, Tensor]) -> dict[str, Array]:
    """Parameters, or gradients, by the authors' names; our model has one row of the target spaces."""
    variables = {}
    for name, value in values.items():
        variable, array = variable_of(name), value.detach().double().numpy()
        if variable == "target_space_embedding":
            row, array = array, np.zeros((t2t.TARGET_SPACES, len(array)))
            array[t2t.HParams().target_space_id] = row
        variables[variable] = array.T if variable.endswith("/kernel") else array
    return variables


def new_model(config: TrainConfig, *, seed: int) -> Transformer:
    """Initialised as for training."""
    torch.manual_seed(seed)
    model = create_model(config.model, rows=embedding_rows(config.model, vocabulary_size=0))
    assert isinstance(model, Transformer)
    return model


def random_model(config: TrainConfig) -> Transformer:
    """A model in float64, with random biases and gains, so that mistakes in them change the results."""
    model = new_model(config, seed=1)
    for parameter in model.parameters():
        if parameter.dim() == 1:
            nn.init.normal_(parameter, mean=float(parameter.detach().mean()), std=0.3)
    return model.double()


def reference(
    hparams: t2t.HParams, weights: Mapping[str, Array], masks: Mapping[str, Array] | None = None
) -> t2t.Transformer:
    return t2t.Transformer(hparams, {name: Node(value) for name, value in weights.items()}, masks)


def padded(values: Tensor, layout: Layout) -> NDArray[Any]:
    """Flat values `[tokens, ...]` with zeros after each sentence, `[batch, length, ...]`."""
    sentences = list(torch.split(values, layout.offsets.diff().tolist()))[:-1]
    array: NDArray[Any] = nn.utils.rnn.pad_sequence(sentences, batch_first=True).numpy()
    return array
