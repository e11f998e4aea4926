import torch

from aiayn.models.keys_values import KeysValues


def drawn(length: int) -> KeysValues:
    return KeysValues(torch.randn(2, 3, length, 4), torch.randn(2, 3, length, 5))


def test_what_is_written_is_read() -> None:
    room, first, second = drawn(7), drawn(2), drawn(3)
    room.write(first, start=0)
    room.write(second, start=2)
    for found, written in zip(room.up_to(5), zip(first, second, strict=True), strict=True):
        assert torch.equal(found, torch.cat(written, dim=2))
