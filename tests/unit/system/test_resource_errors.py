"""A full disk and a shortage of memory are explained in one line; other errors pass."""

import errno
import os

import pytest
import torch

from aiayn.errors import RunFailedError, UserError
from aiayn.system.files import WriteError
from aiayn.system.resource_errors import (
    DISK_ERRORS,
    NO_SPACE,
    disk_errors_explained,
    file_errors_explained,
    memory_errors_explained,
)


@pytest.mark.parametrize("number", sorted(DISK_ERRORS))
@pytest.mark.parametrize("filename", [None, "/full/run.json"])
def test_a_refusal_names_the_setting_the_reason_and_the_remedy(number: int, filename: str | None) -> None:
    with pytest.raises(UserError) as caught, disk_errors_explained("paths.runs=/full"):
        raise WriteError(number, os.strerror(number), filename)
    message = str(caught.value)
    assert message.startswith("paths.runs=/full: cannot write ")
    assert os.strerror(number) in message
    assert (filename in message) if filename else ("None" not in message)
    assert message.endswith("; free space there or choose another folder")


@pytest.mark.parametrize("number", sorted(DISK_ERRORS - NO_SPACE))
def test_a_file_that_is_only_read_is_not_the_settings_fault(number: int) -> None:
    for explained in (disk_errors_explained("paths.runs=/full"), file_errors_explained()):
        with pytest.raises(UserError) as caught, explained:
            raise OSError(number, os.strerror(number), "/other/run.json")
        assert str(caught.value) == f"/other/run.json: {os.strerror(number)}; correct the path or its permissions"


@pytest.mark.parametrize(
    ("number", "remedy"), [(errno.ENOENT, "the folder was removed or moved"), (errno.EISDIR, "remove what is in its")]
)
def test_what_stands_in_the_way_of_a_write_has_a_remedy_of_its_own(number: int, remedy: str) -> None:
    with pytest.raises(UserError, match=rf"^paths\.runs=/full: cannot write to /full/x \(.*; {remedy}"):  # noqa: SIM117
        with disk_errors_explained("paths.runs=/full"):
            raise WriteError(number, os.strerror(number), "/full/x")


@pytest.mark.parametrize(
    "error", [OSError(errno.ECONNRESET, "reset"), BrokenPipeError(), ValueError("x"), UserError("y")]
)
def test_any_other_error_passes(error: Exception) -> None:
    with pytest.raises(type(error)) as caught, disk_errors_explained("paths.runs=/full"):
        raise error
    assert caught.value is error


def test_what_torch_cannot_allocate_is_explained() -> None:
    with pytest.raises(RunFailedError, match=r"^memory does not suffice: lower decoding\.batch_tokens$"):  # noqa: SIM117
        with memory_errors_explained("decoding.batch_tokens"):
            torch.empty(2**60)


def test_pythons_own_shortage_is_explained() -> None:
    with pytest.raises(RunFailedError), memory_errors_explained("x"):
        bytearray(2**62)


def test_errors_other_than_a_shortage_pass() -> None:
    with pytest.raises(RuntimeError, match="shape"), memory_errors_explained("x"):
        torch.zeros(2).view(3)
