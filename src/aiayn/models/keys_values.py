"""Keys and values of an attention."""

from typing import NamedTuple

from torch import Tensor


class KeysValues(NamedTuple):
    """Keys `[batch, num_heads, length, d_k]` and values `[batch, num_heads, length, d_v]`."""

    keys: Tensor
    values: Tensor

    def up_to(self, length: int) -> "KeysValues":
        """The first positions, a view."""
        return KeysValues(self.keys[:, :, :length], self.values[:, :, :length])

    def write(self, new: "KeysValues", *, start: int) -> None:
        """Write new positions from `start` on."""
        end = start + new.keys.shape[2]
        self.keys[:, :, start:end] = new.keys
        self.values[:, :, start:end] = new.values
