"""The origin of a result: commit, uncommitted changes, packages, precision."""

import hashlib
import importlib.metadata
import os
import platform
import subprocess
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import aiayn
from aiayn.system import files
from aiayn.system.scratch import naming_tmpdir

if TYPE_CHECKING:
    import torch

COMMIT_DIGITS = 12

SOURCES = ("src", "conf", "sweeps")
"""The folders of a checkout that can change a result. A patch has no others, since they may contain secrets."""

LARGEST_PATCH = 2**20
"""Bytes of the largest patch that is kept in a run directory."""

DISTRIBUTION = "aiayn"

PACKAGES = (
    "torch",
    "pytorch-lightning",
    "hydra-core",
    "omegaconf",
    "tokenizers",
    "datasets",
    "sacrebleu",
)


def versions() -> dict[str, str]:
    """The versions of Python and of every package that can change a result; torch's with its build ("+cu130")."""
    import torch

    packages = {name: importlib.metadata.version(name) for name in PACKAGES}
    own = {"python": platform.python_version(), DISTRIBUTION: aiayn.__version__}
    return {**own, **packages, "torch": str(torch.__version__)}


def checkout() -> Path | None:
    """The git checkout that this package runs from; None if it was installed."""
    root = Path(__file__).resolve().parents[3]
    return root if files.exists(root / ".git") else None


class Code(NamedTuple):
    """A version of the code."""

    commit: str | None
    """None outside a checkout."""
    dirty: bool | None
    """Whether there are uncommitted changes, untracked files included."""
    patch: str | None
    """The digest of these changes; None if there are none, or they cannot be read."""
    version: str | None = None
    """Version of the package, installed or not; None in a checkout, which has a commit."""

    @property
    def text(self) -> str:
        """The version in words, as in "commit 0123456789ab with uncommitted changes 9876543210fe"."""
        if self.commit is None:
            return f"the installed package aiayn {self.version or 'of an unknown version'} (no commit known)"
        if self.dirty is None:
            return f"commit {self.commit[:COMMIT_DIGITS]} (uncommitted changes unknown)"
        changes = f" with uncommitted changes{f' {self.patch}' if self.patch else ''}" if self.dirty else ""
        return f"commit {self.commit[:COMMIT_DIGITS]}{changes}"


@dataclass(frozen=True)
class Origin:
    """The facts that can change the result of an attempt, besides its configuration, data and hardware."""

    commit: str | None
    """Commit of the checkout; None outside one."""
    dirty: bool | None
    """Whether there were uncommitted changes, untracked files included."""
    patch: str | None
    """The digest of these changes; None if there are none, or they cannot be read."""
    packages: str | None
    """Digest of the installed packages."""
    precision: str | None
    """Precision in Lightning's notation."""
    tf32: bool | None
    """Whether products in single precision were TensorFloat-32."""
    version: str | None = None
    """Version of the installed package; None in a checkout."""

    @property
    def code(self) -> Code:
        """Commit and changes, or the version."""
        return Code(self.commit, self.dirty, self.patch, self.version)

    @property
    def precision_text(self) -> str:
        """The precision, as in "32-true with TF32"; empty if unknown."""
        return f"{self.precision or ''}{' with TF32' if self.tf32 else ''}"


@cache
def code_version(folders: tuple[str, ...] = SOURCES) -> Code:
    """The checkout's commit, and its uncommitted changes in some folders; outside one the package's version.

    A process reads them once, at the start of a run: later changes are not in the loaded code.
    """
    root, patch = checkout(), source_patch(folders)
    commit = None if root is None else _git(root, "rev-parse", "HEAD")
    return Code(
        None if commit is None else commit.decode().strip(),
        None if patch is None else bool(patch),
        digest(patch) if patch else None,
        aiayn.__version__ if commit is None else None,
    )


@cache
def source_patch(folders: tuple[str, ...] = SOURCES) -> bytes | None:
    """The uncommitted changes in some folders, untracked files included, as `git apply` reads them.

    None outside a checkout, and where git fails. Ignored files are left out.
    """
    root = checkout()
    objects = None if root is None else _git(root, "rev-parse", "--path-format=absolute", "--git-path", "objects")
    if root is None or objects is None:
        return None
    present = [name for name in folders if files.is_dir(root / name)]
    with naming_tmpdir():
        folder = tempfile.TemporaryDirectory()
    with folder as scratch:
        # Everything is added to a separate index and object store: those of the checkout are not changed.
        apart = {
            "GIT_INDEX_FILE": f"{scratch}/index",
            "GIT_OBJECT_DIRECTORY": scratch,
            "GIT_ALTERNATE_OBJECT_DIRECTORIES": objects.decode().strip(),
        }
        if _git(root, "read-tree", "HEAD", **apart) is None:
            return None
        if present and _git(root, "add", "--all", "--", *present, **apart) is None:
            return None
        as_stored = ("--patch", "--binary", "--no-ext-diff", "--no-textconv")  # independent of the user's settings
        return _git(root, "diff-index", "--cached", *as_stored, "HEAD", "--", *folders, **apart)


def digest(content: bytes) -> str:
    """Twelve hexadecimal digits of a checksum."""
    return hashlib.sha256(content).hexdigest()[:12]


@cache
def package_lock() -> str:
    """Python and every installed distribution, sorted, a line each as in "torch==2.13.0"; read once per process."""
    found: dict[str, str] = {}
    for distribution in importlib.metadata.distributions():  # Python imports the first of several with one name
        name = (distribution.metadata["Name"] or "").lower().replace("_", "-")
        if name:
            found.setdefault(name, distribution.version)
    lines = sorted(f"{name}=={version}" for name, version in found.items())
    return "".join(f"{line}\n" for line in (f"# Python {platform.python_version()}", *lines))


def uses_tf32(device: "torch.device") -> bool:
    """Whether products in single precision are TensorFloat-32 on a device, by this process's settings."""
    import torch

    has_tf32 = device.type == "cuda" and torch.cuda.get_device_capability(device) >= (8, 0)
    return has_tf32 and torch.backends.cuda.matmul.allow_tf32


def code() -> dict[str, str]:
    """A checksum of this package's source, and the versions of its dependencies."""
    root = Path(__file__).resolve().parents[1]
    content = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        content.update(f"{path.relative_to(root)}\0".encode() + path.read_bytes() + b"\0")
    return {"aiayn's source": content.hexdigest()[:16], **{f"the version of {k}": v for k, v in versions().items()}}


def _git(root: Path, *arguments: str, **environment: str) -> bytes | None:
    # A hook's GIT_DIR would name another repository; `git status` without the option may break a running commit.
    inherited = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    try:
        command = ["git", "--no-optional-locks", *arguments]
        return subprocess.check_output(
            command, cwd=root, env=inherited | environment, stderr=subprocess.DEVNULL, timeout=10
        )
    except (OSError, subprocess.SubprocessError):
        return None
