"""Folders that are complete or absent: built under another name, checksummed, synced, then renamed."""

import hashlib
import json
import logging
import shutil
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any, TypeAlias

from filelock import FileLock, Timeout

from aiayn.errors import UserError
from aiayn.system import files
from aiayn.system.documents import parse_json

Manifest: TypeAlias = dict[str, Any]

MANIFEST = "manifest.json"
_SELF_CHECKSUM = "manifest_sha256"

logger = logging.getLogger(__name__)


class DamagedFolderError(Exception):
    """A folder is missing or differs from its checksums."""


def open_or_build(directory: Path, build: Callable[[Path], Mapping[str, Any]]) -> Manifest:
    """Verify a folder and return its manifest; build the folder first if it is absent or damaged.

    Safe for concurrent calls: one process builds, the others wait. A complete folder is opened without a lock, so also
    from a read-only disk.

    Args:
        directory: The folder; `<directory>.lock` and `.shards` beside it are used for building.
        build: Fills an empty folder and returns entries of the manifest. Files in `shard_directory(directory)` survive
            a kill, for the next build; they are removed after success, a full disk or wrong input.

    Returns:
        The entries of `build`, `files` (bytes and sha256 of each) and `fingerprint` (sha256 over those checksums).
    """
    with suppress(DamagedFolderError):
        return read_verified(directory)
    directory.parent.mkdir(parents=True, exist_ok=True)
    with _lock(directory.name, directory.parent):
        _remove_leftovers(directory)
        try:
            return read_verified(directory)  # built by another process in the meantime
        except DamagedFolderError as damage:
            if files.exists(directory):
                logger.warning("%s is damaged (%s); building it again", directory, damage)
                shutil.rmtree(directory)
        return _build(directory, build)


def shard_directory(directory: Path) -> Path:
    """Return where the build of a folder keeps intermediate files; the build creates it."""
    return directory.with_name(f"{directory.name}.shards")


def read_verified(directory: Path) -> Manifest:
    """Return the manifest of a folder after comparing all files with their checksums.

    Raises:
        DamagedFolderError: A file is missing or differs.
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


def _build(directory: Path, build: Callable[[Path], Mapping[str, Any]]) -> Manifest:
    shards = shard_directory(directory)
    try:
        with files.new_folder(directory) as folder:
            described = build(folder)
            entries = _file_entries(sorted(folder.iterdir()))
            checksums = "".join(f"{entry['sha256']}  {name}\n" for name, entry in entries.items())
            manifest = {**described, "files": entries, "fingerprint": hashlib.sha256(checksums.encode()).hexdigest()}
            content = _manifest_bytes(manifest)
            (folder / MANIFEST).write_bytes(content)
    except (OSError, UserError):
        shutil.rmtree(shards, ignore_errors=True)  # frees space on a full disk
        raise
    shutil.rmtree(shards, ignore_errors=True)
    return _parse_manifest(content)


def _remove_leftovers(directory: Path) -> None:
    """Remove what killed builds have left, of this folder and of others that are not being built.

    Shards of a folder that does not exist yet stay.
    """
    shards = (path for path in directory.parent.glob("*.shards") if files.exists(path.with_suffix("")))
    for leftover in (*directory.parent.glob(".*.partial"), *shards):
        name = leftover.name.removeprefix(".").partition(".")[0]
        lock = _lock(name, directory.parent, timeout=0) if name != directory.name else nullcontext()
        with suppress(Timeout, PermissionError), lock:  # what another user has left stays
            shutil.rmtree(leftover, ignore_errors=True)  # its builder may just have finished


def _lock(name: str, parent: Path, *, timeout: float = -1) -> FileLock:
    """Return the lock of the folder `name`, for all who may write into its parent, whatever this user's umask is."""
    return FileLock(parent / f"{name}.lock", timeout=timeout, mode=parent.stat().st_mode & 0o666)


def _file_entries(paths: Iterable[Path]) -> dict[str, dict[str, Any]]:
    """Size and checksum of each file by name; in threads, since large corpora have many gigabytes."""
    with ThreadPoolExecutor(thread_name_prefix="checksum") as threads:
        entries = {path.name: threads.submit(_file_entry, path) for path in paths}
        return {name: entry.result() for name, entry in entries.items()}


def _file_entry(path: Path) -> dict[str, Any]:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256")
        return {"bytes": file.tell(), "sha256": digest.hexdigest()}


def _manifest_bytes(manifest: Mapping[str, Any]) -> bytes:
    bare = {key: value for key, value in manifest.items() if key != _SELF_CHECKSUM}
    checksum = hashlib.sha256(json.dumps(bare, sort_keys=True).encode()).hexdigest()
    return json.dumps({**bare, _SELF_CHECKSUM: checksum}, indent=2, sort_keys=True).encode() + b"\n"


def _parse_manifest(content: bytes) -> Manifest:
    try:
        manifest = parse_json(content.decode(), MANIFEST)
    except ValueError as error:
        raise DamagedFolderError(f"{MANIFEST} is not JSON") from error
    # Compare whole files: a flipped bit may be in the spacing or in the checksum itself.
    if not isinstance(manifest, dict) or _manifest_bytes(manifest) != content:
        raise DamagedFolderError(f"{MANIFEST} does not match its checksum")
    return manifest
