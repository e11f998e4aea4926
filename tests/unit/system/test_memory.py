"""A shortage of memory is one line; other errors stay what they are."""

import pytest
import torch

from aiayn.errors import RunFailedError
from aiayn.system.memory import shortage_explained


def test_what_torch_cannot_allocate_is_explained() -> None:
    with pytest.raises(RunFailedError, match=r"^memory does not suffice: lower decoding\.batch_tokens$"):  # noqa: SIM117
        with shortage_explained("decoding.batch_tokens"):
            torch.empty(2**60)


def test_pythons_own_shortage_is_explained() -> None:
    with pytest.raises(RunFailedError), shortage_explained("x"):
        bytearray(2**62)


def test_other_errors_pass() -> None:
    with pytest.raises(RuntimeError, match="shape"), shortage_explained("x"):
        torch.zeros(2).view(3)
