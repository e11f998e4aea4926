"""Checkpoints that are whole or not there, and that hold nothing but data."""

import pickle
import struct
import warnings
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from pytorch_lightning.plugins.io import CheckpointIO

from aiayn.errors import UserError
from aiayn.system import files

UNREADABLE = (
    ArithmeticError,
    AttributeError,
    EOFError,
    LookupError,
    NotImplementedError,
    OSError,
    RuntimeError,
    TypeError,
    UserWarning,
    ValueError,
    pickle.UnpicklingError,
    struct.error,
    zipfile.BadZipFile,
    zlib.error,
)
"""What reading a damaged or foreign file may raise."""

FOLDER_BIT = 0x10
"""Of an archive entry's attributes; a checkpoint has files alone."""


class ForeignCheckpointError(UserError):
    """A checkpoint of another run than the one that it is read for."""


class AtomicCheckpointIO(CheckpointIO):
    """Writes under a temporary name and renames; loads with `weights_only=True`, whatever it is asked."""

    def save_checkpoint(self, checkpoint: dict[str, Any], path: Any, storage_options: Any | None = None) -> None:
        """Write a checkpoint.

        Raises:
            OSError: the disk does not take it.
        """
        assert storage_options is None
        with files.atomic_writer(Path(path)) as stream:
            try:
                torch.save(checkpoint, stream)
            except RuntimeError as error:  # torch fails once more while it closes the archive
                if isinstance(error.__context__, OSError):
                    raise error.__context__ from None
                raise

    def load_checkpoint(self, path: Any, map_location: Any | None = None, weights_only: bool | None = None) -> Any:
        """Read a checkpoint of any run; see `load_checkpoint`."""
        return load_checkpoint(Path(path), provenance=None, map_location=map_location)

    def remove_checkpoint(self, path: Any) -> None:
        """Delete a checkpoint that is no longer kept."""
        Path(path).unlink(missing_ok=True)


def load_checkpoint(
    path: Path, *, provenance: Mapping[str, str | None] | None, map_location: Any | None = "cpu"
) -> dict[str, Any]:
    """Read a checkpoint of plain data.

    Args:
        path: the file.
        provenance: what the checkpoint must state of its run, by name, such as `config_hash`; a value of None is not
            compared. None in place of the whole: a checkpoint of any run.
        map_location: the device of the tensors.

    Raises:
        UserError: the file is missing, truncated or no checkpoint.
        ForeignCheckpointError: it is another run's.
    """
    read = _load_plain_data(path, map_location)
    content: dict[str, Any] = read if isinstance(read, dict) else {}
    if not all(isinstance(content.get(part), dict) for part in ("aiayn", "state_dict")):
        raise UserError(f"{path}: not a checkpoint of this program")
    found = content["aiayn"].get("provenance", {})
    for name, value in (provenance or {}).items():
        if value is not None and found.get(name) != value:
            raise ForeignCheckpointError(
                f"{path}: a checkpoint of another run ({name} {found.get(name)}, not {value}): remove it, "
                "or bring back this run's own"
            )
    return content


def _load_plain_data(path: Path, map_location: Any | None) -> Any:
    """Read tensors and plain values. What torch says of other files is not passed on: it advises to run their code.

    Raises:
        UserError: the file is missing or damaged, or holds anything else.
    """
    try:
        _check_archive(path)
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # torch warns of what it then cannot read
            return torch.load(path, map_location=map_location or "cpu", weights_only=True)
    except FileNotFoundError:
        raise UserError(f"{path}: no such checkpoint") from None
    except pickle.UnpicklingError:
        raise UserError(
            f"{path}: not a checkpoint of this program: it holds more than tensors and plain values, and is not loaded"
        ) from None
    except OSError as error:
        raise UserError(f"{path}: not a readable checkpoint ({error.strerror or error})") from None
    except UNREADABLE:
        raise UserError(f"{path}: not a readable checkpoint (cut off, damaged, or another program's)") from None


def _check_archive(path: Path) -> None:
    """Compare what torch does not: it reads on where checksums differ, and returns stale memory for a folder's entry.

    Raises:
        BadZipFile: the file is damaged; so may other errors of `UNREADABLE`.
    """
    with zipfile.ZipFile(path) as archive:
        damaged = archive.testzip()
        folders = [entry.filename for entry in archive.infolist() if entry.external_attr & FOLDER_BIT]
    if damaged is not None or folders:
        raise zipfile.BadZipFile(f"{damaged or folders[0]} is damaged")
