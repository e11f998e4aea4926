"""Checkpoints are written atomically, and reading one runs no code."""

import io
import pickle
import re
import tempfile
import threading
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st

from aiayn.errors import UserError
from aiayn.training.checkpoint_io import ForeignCheckpointError, load_checkpoint
from aiayn.training.session import AtomicCheckpointIO

WEIGHT = torch.arange(1.0, 7.0).view(2, 3)
PROVENANCE = {"config_hash": "0123abcd", "data_fingerprint": "9"}
CONTENT = {
    "aiayn": {"progress": {"target_tokens": 7}, "provenance": PROVENANCE},
    "state_dict": {"weight": WEIGHT},
    "global_step": 7,
}


def saved(content: Any) -> bytes:
    stream = io.BytesIO()
    torch.save(content, stream)
    return stream.getvalue()


WHOLE = saved(CONTENT)


def damaged(position: int, change: int) -> bytes:
    """The whole file with one byte changed."""
    content = bytearray(WHOLE)
    content[position] ^= change
    return bytes(content)


def refusal(content: bytes) -> str:
    """The message of the error on reading a file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "step-1.ckpt"
        path.write_bytes(content)
        with pytest.raises(UserError) as error:
            load_checkpoint(path, provenance=PROVENANCE)
    message = str(error.value)
    assert message.startswith(f"{path}: ")
    assert "\n" not in message
    return message.removeprefix(f"{path}: ")


class Touch:
    """Touches a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.path,)


def test_a_checkpoint_is_loaded_as_saved(tmp_path: Path) -> None:
    path = tmp_path / "checkpoints" / "step-1.ckpt"
    plugin = AtomicCheckpointIO()
    plugin.save_checkpoint(CONTENT, path)
    for content in (
        load_checkpoint(path, provenance=PROVENANCE),
        plugin.load_checkpoint(str(path), weights_only=False),
    ):
        assert content["aiayn"] == CONTENT["aiayn"]
        assert torch.equal(content["state_dict"]["weight"], WEIGHT)
    plugin.remove_checkpoint(path)
    plugin.remove_checkpoint(path)
    assert list(path.parent.iterdir()) == []


def test_a_save_that_fails_keeps_the_old_checkpoint(tmp_path: Path) -> None:
    path = tmp_path / "step-1.ckpt"
    plugin = AtomicCheckpointIO()
    plugin.save_checkpoint(CONTENT, path)
    before = path.read_bytes()
    with pytest.raises(TypeError, match="cannot pickle"):
        plugin.save_checkpoint({**CONTENT, "cannot be pickled": threading.Lock()}, path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_no_code_of_a_checkpoint_is_run(tmp_path: Path) -> None:
    evidence = tmp_path / "evidence"
    content = saved({**CONTENT, "code": Touch(evidence)})
    assert refusal(content) == (
        "not a checkpoint of this program: it holds more than tensors and plain values, and is not loaded"
    )
    assert not evidence.exists()
    torch.load(io.BytesIO(content), weights_only=False)
    assert evidence.exists(), "otherwise the code would have run"


@pytest.mark.parametrize(
    "content",
    [
        saved({**CONTENT, "path": Path("x")}),
        saved({**CONTENT, "code": print}),
        pickle.dumps({**CONTENT, "code": Touch(Path("x"))}),
    ],
    ids=["an object", "a function", "a bare pickle"],
)
def test_no_refusal_advises_to_run_the_code(content: bytes) -> None:
    assert not re.search("weights_only|trust|torch|option|global", refusal(content), re.IGNORECASE)


@pytest.mark.parametrize("name", PROVENANCE)
def test_a_checkpoint_of_another_run_is_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / "step-1.ckpt"
    path.write_bytes(WHOLE)
    with pytest.raises(ForeignCheckpointError) as error:
        load_checkpoint(path, provenance={**PROVENANCE, name: "7"})
    assert str(error.value) == (
        f"{path}: a checkpoint of another run ({name} {PROVENANCE[name]}, not 7): remove it, or restore this run's own"
    )
    for allowed in (PROVENANCE, {**PROVENANCE, name: None}, None):
        assert load_checkpoint(path, provenance=allowed)["aiayn"] == CONTENT["aiayn"]


def test_a_missing_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"step-1\.ckpt: no such checkpoint$"):
        load_checkpoint(tmp_path / "step-1.ckpt", provenance=None)
    with pytest.raises(UserError, match="not a readable checkpoint"):
        load_checkpoint(tmp_path, provenance=None)


@pytest.mark.parametrize(
    "content",
    [
        {"state_dict": {}},
        {"aiayn": 1, "state_dict": {}},
        {"aiayn": {}, "state_dict": 1},
        [1, 2],
        "text",
        torch.zeros(2),
        None,
    ],
)
def test_files_of_other_programs_are_refused(content: object) -> None:
    assert refusal(saved(content)).startswith("not a checkpoint of this program (")


@given(st.binary() | st.integers(0, len(WHOLE) - 1).map(lambda length: WHOLE[:length]))
@example(b"hello world\n")
@example(b"\x80\x04K\x01.")
def test_arbitrary_bytes_and_truncated_files_are_refused(content: bytes) -> None:
    assert refusal(content).startswith("not a readable checkpoint")


@given(st.integers(0, len(WHOLE) - 1), st.integers(1, 255))
@example(WHOLE.rindex(b"archive/data/0") - 8, 0x10)  # marks the entry as a folder, whose content torch does not read
def test_a_damaged_byte_is_refused_or_changes_nothing(position: int, change: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "step-1.ckpt"
        path.write_bytes(damaged(position, change))
        content: dict[str, Any] = CONTENT
        message = ""
        try:
            content = load_checkpoint(path, provenance=PROVENANCE)
        except UserError as error:
            message = str(error)
        assert "\n" not in message
        assert content["aiayn"] == CONTENT["aiayn"]
        assert torch.equal(content["state_dict"]["weight"], WEIGHT)
