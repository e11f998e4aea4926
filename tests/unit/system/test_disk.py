"""A file system that takes no more is explained in one line; what else goes wrong is not blamed on it."""

import errno
import os

import pytest

from aiayn.errors import UserError
from aiayn.system.disk import REFUSALS, refusals_explained


@pytest.mark.parametrize("number", sorted(REFUSALS))
@pytest.mark.parametrize("filename", [None, "/full/run.json"])
def test_a_refusal_names_the_setting_the_reason_and_the_remedy(number: int, filename: str | None) -> None:
    with pytest.raises(UserError) as caught, refusals_explained("paths.runs=/full"):
        raise OSError(number, os.strerror(number), filename)
    message = str(caught.value)
    assert message.startswith("paths.runs=/full: cannot write ")
    assert os.strerror(number) in message
    assert (filename in message) if filename else ("None" not in message)
    assert message.endswith("; free space there or choose another folder")


@pytest.mark.parametrize(
    "error", [OSError(errno.ECONNRESET, "reset"), BrokenPipeError(), ValueError("x"), UserError("y")]
)
def test_any_other_error_passes(error: Exception) -> None:
    with pytest.raises(type(error)) as caught, refusals_explained("paths.runs=/full"):
        raise error
    assert caught.value is error


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")  # noqa: PTH110
def test_a_full_device_is_a_refusal() -> None:
    with (
        pytest.raises(UserError, match="No space left on device"),
        refusals_explained("paths.runs=/full"),
        open("/dev/full", "w") as stream,  # noqa: PTH123
    ):
        stream.write("x")
