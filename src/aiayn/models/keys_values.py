"""Keys and values: what queries attend to."""

from dataclasses import dataclass
from typing import NamedTuple

from torch import Tensor


class KeysValues(NamedTuple):
    """What queries attend to: keys `[batch, num_heads, length, d_k]` and values `[batch, num_heads, length, d_v]`."""

    keys: Tensor
    values: Tensor

    def keep(self, rows: Tensor) -> "KeysValues":
        """The rows int64 `[kept]` of the batch, in this order."""
        return KeysValues(self.keys.index_select(0, rows), self.values.index_select(0, rows))


@dataclass
class _Room:
    """Storage with room to grow. Slots below `used` are never written again, so its readers may share it."""

    keys: Tensor
    values: Tensor
    used: int


@dataclass(frozen=True)
class Past:
    """Keys and values of the slots filled so far, `[sentences, num_heads, slots, d]`. Immutable to whoever holds it.

    Appending writes behind the last slot where there is room that nobody else has written to, and moves to twice the
    room otherwise: n steps copy O(n) slots, where one concatenation a step would copy O(n^2).
    """

    room: _Room
    slots: int

    @classmethod
    def like(cls, other: KeysValues) -> "Past":
        """An empty past of the same sentences, heads and widths."""
        return cls(_Room(other.keys[:, :, :0], other.values[:, :, :0], used=0), slots=0)

    @property
    def sentences(self) -> int:
        """How many sentences it is of."""
        return len(self.room.keys)

    @property
    def filled(self) -> KeysValues:
        """The filled slots, a view."""
        return KeysValues(self.room.keys[:, :, : self.slots], self.room.values[:, :, : self.slots])

    def append(self, new: KeysValues) -> "Past":
        """This past with the new slots, `[sentences, num_heads, new, d]`, at its end."""
        end = self.slots + new.keys.shape[2]
        room = self.room
        if room.used > self.slots or room.keys.shape[2] < end:
            room = _Room(_moved(self.filled.keys, 2 * end), _moved(self.filled.values, 2 * end), used=0)
        room.keys[:, :, self.slots : end] = new.keys
        room.values[:, :, self.slots : end] = new.values
        room.used = end
        return Past(room, end)

    def keep(self, sentences: Tensor) -> "Past":
        """The sentences int64 `[kept]`, in this order."""
        filled = self.filled
        keys, values = filled.keys.index_select(0, sentences), filled.values.index_select(0, sentences)
        return Past(_Room(keys, values, used=self.slots), self.slots)


def _moved(filled: Tensor, room: int) -> Tensor:
    """The filled slots at the start of `room` many."""
    sentences, num_heads, slots, width = filled.shape
    moved = filled.new_empty(sentences, num_heads, room, width)
    moved[:, :, :slots] = filled
    return moved
