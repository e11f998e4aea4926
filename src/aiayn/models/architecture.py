"""The arguments of models, filled by name from the configuration's group `model`, which explains and checks them."""

import json
from dataclasses import dataclass, field
from typing import Any


class Arguments(dict[str, Any]):
    """Keyword arguments of a class of the user's own; hashable, since architectures are keys of caches."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(json.dumps(self, sort_keys=True))


@dataclass(frozen=True)
class AnyArchitecture:
    """The arguments of a model of some kind, but for its vocabulary."""


@dataclass(frozen=True)
class Architecture(AnyArchitecture):
    """Arguments of a Transformer (section 3, Table 3); the defaults are the paper's model."""

    d_model: int
    d_ff: int
    num_layers: int
    num_heads: int
    d_k: int
    d_v: int
    dropout: float
    positions: str
    norm: str
    projection_bias: bool
    layer_norm_epsilon: float
    max_positions: int
    attention_dropout: float = 0.0
    activation_dropout: float = 0.0
    attention: str = "scaled_dot"
    neighbourhood: int | None = None
    """For attention="restricted" alone."""
    normalization: str = "layer"
    residual: bool = True
    tied_embeddings: bool = True
    position_offset: int = 0
    activation: str = "relu"
    output_bias: bool = False
    decoder_start: str = "bos"
    target_space_embedding: bool = False
    attention_arguments: Arguments = field(default_factory=Arguments)
    positions_arguments: Arguments = field(default_factory=Arguments)


@dataclass(frozen=True)
class PluginArchitecture(AnyArchitecture):
    """Arguments of a model of the user's own."""

    target: str
    arguments: Arguments
    d_model: int
    num_layers: int
    dropout: float
    max_positions: int
