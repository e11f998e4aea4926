"""What attention reads: keys and values, and the context that knows which of them each query may attend to."""

from typing import NamedTuple, Protocol

from torch import Tensor

from aiayn.models.attention_functions import AttentionFunction


class KeysValues(NamedTuple):
    """Keys `[..., num_heads, d_k]` and values `[..., num_heads, d_v]` of positions that are attended to."""

    keys: Tensor
    values: Tensor


class Context(Protocol):
    """The keys that each query may attend to."""

    @property
    def positions(self) -> Tensor:
        """The queries' positions in their sentences, int64 that broadcast to `[...]`."""
        ...

    def attend(self, function: AttentionFunction, query: Tensor, memory: KeysValues, *, dropout: float) -> Tensor:
        """Equation 1 for queries `[..., num_heads, d_k]`: `[..., num_heads, d_v]`; `dropout` is on the weights.

        The context defines the layout of `memory`; that of a search stores new keys and values, too.
        """
        ...
