"""Checkpoints: written atomically, checked for damage, and read as plain data only."""

import hashlib
import pickle
import struct
import warnings
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from aiayn.errors import UserError
from aiayn.runs.weights_file import published_weights
from aiayn.system import files
from aiayn.system.extras import require
from aiayn.training.checkpoint_content import checked_content

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
"""Errors that reading a damaged or foreign file may raise."""

FOLDER_BIT = 0x10
"""In the attributes of an archive's entry; a checkpoint has no folders."""


class UnusableCheckpointError(UserError):
    """A run cannot go on from its checkpoints; it is left as it was."""


class ForeignCheckpointError(UnusableCheckpointError):
    """A checkpoint of another run."""


def save_checkpoint(content: Mapping[str, Any], path: Path) -> None:
    """Write a checkpoint; OSError if the disk refuses it, or the folder above its own was removed."""
    files.require_folder(path.parent.parent)
    with files.atomic_writer(path) as stream:
        try:
            torch.save(content, stream)
        except RuntimeError as error:  # raised by torch when it closes the archive after an error
            if isinstance(error.__context__, OSError):
                raise error.__context__ from None
            raise


def load_checkpoint(
    path: Path, *, provenance: Mapping[str, str | None] | None, map_location: Any | None = "cpu"
) -> dict[str, Any]:
    """Read a checkpoint of plain data, with these values in its provenance; None is not compared, and allows any run.

    A published run's weights (`model.safetensors`) are a checkpoint without training state.

    Raises:
        UserError: the file is missing, damaged or not a checkpoint.
        ForeignCheckpointError: it is another run's.
    """
    is_published = path.suffix == ".safetensors"
    read = _load_published(path) if is_published else _load_plain_data(path, map_location)
    try:
        content = checked_content(read, has_data=map_location != "meta")
    except ValueError as error:
        raise UserError(f"{path}: not a checkpoint of this program ({error})") from None
    found = content["aiayn"]["provenance"]
    for name, value in (provenance or {}).items():
        if value is not None and found.get(name) != value:
            raise ForeignCheckpointError(
                f"{path}: a checkpoint of another run ({name} {found.get(name)}, not {value}): remove it, "
                "or restore this run's own"
            )
    return content


def weights_digest(weights: Mapping[str, torch.Tensor]) -> str:
    """SHA-256 of names and bytes, in the order of the names."""
    found = hashlib.sha256()
    for name in sorted(weights):
        found.update(name.encode())
        found.update(weights[name].contiguous().flatten().view(torch.uint8).numpy().tobytes())
    return found.hexdigest()


def _load_published(path: Path) -> dict[str, Any]:
    """The weights of a published run in the form of a checkpoint."""
    require("safetensors", extra="safetensors", setting=str(path))
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    known = published_weights(path)
    try:
        weights = load_file(path)
    except (OSError, SafetensorError):
        raise UserError(f"{path}: not a readable file of weights (cut off or damaged); fetch it again") from None
    if weights_digest(weights) != known.sha256:
        raise UserError(f"{path}: the weights were changed since they were published; fetch it again")
    return {
        "state_dict": {f"model.{name}": weight for name, weight in weights.items()},
        "global_step": known.step,
        "aiayn": {"provenance": dict(known.provenance), "averaged_steps": list(known.averaged_steps)},
    }


def _load_plain_data(path: Path, map_location: Any | None) -> Any:
    """Read tensors and plain values. torch's own messages are replaced: they advise to run a file's code."""
    try:
        _check_archive(path)
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # torch warns before it fails to read
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
    """Check checksums, which torch ignores, and for folders, for which torch returns stale memory."""
    with zipfile.ZipFile(path) as archive:
        damaged = archive.testzip()
        folders = [entry.filename for entry in archive.infolist() if entry.external_attr & FOLDER_BIT]
    if damaged is not None or folders:
        raise zipfile.BadZipFile(f"{damaged or folders[0]} is damaged")
