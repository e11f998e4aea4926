"""Files and folders that are whole or absent: written aside, checksummed, synced, renamed."""

import hashlib
import json
import logging
import os
import shutil
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any, TypeAlias

from filelock import FileLock, Timeout

from aiayn.errors import UserError
from aiayn.system import files

Manifest: TypeAlias = dict[str, Any]

MANIFEST = "manifest.json"
_SELF_CHECKSUM = "manifest_sha256"

logger = logging.getLogger(__name__)


class DamagedFolderError(Exception):
    """A folder that is absent, or not byte for byte what was written."""


def open_or_build(directory: Path, build: Callable[[Path], Mapping[str, Any]]) -> Manifest:
    """Return the manifest of a folder that is certain to be whole, building it where it is absent or damaged.

    Any number of processes may call this at once: one builds, the others wait for it. A folder that is whole is opened
    without a lock, and thus from a read-only disk too.

    Args:
        directory: the folder; `<directory>.lock`, `.partial` and `.shards` beside it belong to it.
        build: fills an empty folder with files and returns what the manifest shall say about them. What it keeps in
            `shards_beside(directory)` outlives a kill, for the next one to go on from; it is gone once the folder is
            there, and given back where the disk is full or the input is wrong.

    Returns:
        What `build` returned, with `files` (bytes and sha256 of each) and `fingerprint` (sha256 over those checksums).
    """
    with suppress(DamagedFolderError):
        return read_verified(directory)
    directory.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(_beside(directory, ".lock")):
        _sweep(directory)
        try:
            return read_verified(directory)  # another process was faster
        except DamagedFolderError as damage:
            if directory.exists():
                logger.warning("%s is damaged (%s); building it again", directory, damage)
                shutil.rmtree(directory)
        return _build_aside(directory, build)


def shards_beside(directory: Path) -> Path:
    """Where the build of a folder keeps what it need not do again; not there unless the build makes it."""
    return _beside(directory, ".shards")


def read_verified(directory: Path) -> Manifest:
    """Return the manifest of a folder after comparing every byte with its checksum.

    Raises:
        DamagedFolderError: a file is missing or differs, or the folder was never built.
    """
    try:
        manifest = _parse_manifest((directory / MANIFEST).read_bytes())
        found = _file_entries(directory / name for name in manifest["files"])
        for name, entry in manifest["files"].items():
            if found[name] != entry:
                raise DamagedFolderError(f"{name} does not match its checksum")
    except FileNotFoundError as error:
        raise DamagedFolderError(f"{Path(error.filename).name} is missing") from error
    return manifest


def _build_aside(directory: Path, build: Callable[[Path], Mapping[str, Any]]) -> Manifest:
    partial = _beside(directory, ".partial")
    partial.mkdir()
    try:
        described = build(partial)
        entries = _file_entries(sorted(partial.iterdir()), sync=True)
        checksums = "".join(f"{entry['sha256']}  {name}\n" for name, entry in entries.items())
        manifest = {**described, "files": entries, "fingerprint": hashlib.sha256(checksums.encode()).hexdigest()}
        content = _manifest_bytes(manifest)
        files.write_bytes(partial / MANIFEST, content)
        partial.rename(directory)
    except BaseException as error:
        shutil.rmtree(partial, ignore_errors=True)  # also gives a full disk its space back
        if isinstance(error, OSError | UserError):
            shutil.rmtree(shards_beside(directory), ignore_errors=True)
        raise
    files.sync_directory(directory.parent)
    shutil.rmtree(shards_beside(directory), ignore_errors=True)
    return _parse_manifest(content)


def _sweep(directory: Path) -> None:
    """Remove what killed builds left behind: this folder's, and any neighbour's that nobody is building.

    Shards of a folder that is not there stay: whoever asks for it goes on from them.
    """
    shards = (path for path in directory.parent.glob("*.shards") if path.with_suffix("").exists())
    for left in (*directory.parent.glob("*.partial"), *shards):
        lock = FileLock(left.with_suffix(".lock"), timeout=0) if left.stem != directory.name else nullcontext()
        with suppress(Timeout), lock:
            shutil.rmtree(left, ignore_errors=True)  # its builder may just have finished it


def _file_entries(paths: Iterable[Path], *, sync: bool = False) -> dict[str, dict[str, Any]]:
    """Size and checksum of each file by its name, several at a time: a large corpus is many gigabytes."""
    with ThreadPoolExecutor(thread_name_prefix="checksum") as threads:
        entries = {path.name: threads.submit(_file_entry, path, sync=sync) for path in paths}
        return {name: entry.result() for name, entry in entries.items()}


def _file_entry(path: Path, *, sync: bool = False) -> dict[str, Any]:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256")
        if sync:
            os.fsync(file.fileno())
        return {"bytes": file.tell(), "sha256": digest.hexdigest()}


def _manifest_bytes(manifest: Mapping[str, Any]) -> bytes:
    bare = {key: value for key, value in manifest.items() if key != _SELF_CHECKSUM}
    checksum = hashlib.sha256(json.dumps(bare, sort_keys=True).encode()).hexdigest()
    return json.dumps({**bare, _SELF_CHECKSUM: checksum}, indent=2, sort_keys=True).encode() + b"\n"


def _parse_manifest(content: bytes) -> Manifest:
    try:
        manifest = json.loads(content)
    except ValueError as error:
        raise DamagedFolderError(f"{MANIFEST} is not JSON") from error
    # Writing it again must give the same bytes: so no flipped bit hides in the spacing or in the checksum itself.
    if not isinstance(manifest, dict) or _manifest_bytes(manifest) != content:
        raise DamagedFolderError(f"{MANIFEST} does not match its checksum")
    return manifest


def _beside(directory: Path, suffix: str) -> Path:
    return directory.with_name(directory.name + suffix)
