"""The origin of a result: versions, commit, hardware."""

import hashlib
import importlib.metadata
import os
import platform
import subprocess
from pathlib import Path
from typing import Any

COMMIT_DIGITS = 12

PACKAGES = ("aiayn", "torch", "pytorch-lightning", "hydra-core", "omegaconf", "tokenizers", "datasets", "sacrebleu")


def versions() -> dict[str, str]:
    """The versions of Python and of every package that can change a result; torch's with its build ("+cu130")."""
    import torch

    packages = {name: importlib.metadata.version(name) for name in PACKAGES}
    return {"python": platform.python_version(), **packages, "torch": str(torch.__version__)}


def checkout() -> Path | None:
    """The git checkout that this package runs from; None if it was installed."""
    root = Path(__file__).resolve().parents[3]
    return root if (root / ".git").exists() else None


def code_version() -> tuple[str | None, bool | None]:
    """The checkout's commit, and whether it has changes; (None, None) outside one."""
    root = checkout()
    if root is None:
        return None, None
    commit = _git(root, "rev-parse", "HEAD")
    changes = _git(root, "status", "--porcelain", "--untracked-files=no")
    return commit, None if changes is None else bool(changes)


def commit_text(commit: str | None, dirty: bool | None) -> str:
    """The values of `code_version` in words."""
    if commit is None:
        return "an installed package (no commit known)"
    return f"commit {commit[:COMMIT_DIGITS]}{' with uncommitted changes' if dirty else ''}"


def code() -> dict[str, str]:
    """A checksum of this package's source, and the versions of its dependencies."""
    root = Path(__file__).resolve().parents[1]
    content = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        content.update(f"{path.relative_to(root)}\0".encode() + path.read_bytes() + b"\0")
    return {"aiayn's source": content.hexdigest()[:16], **{f"the version of {k}": v for k, v in versions().items()}}


def hardware() -> dict[str, Any]:
    """Processor, cores, memory in GiB, and GPUs that torch sees."""
    import torch

    pages, page = os.sysconf("SC_PHYS_PAGES"), os.sysconf("SC_PAGE_SIZE")
    return {
        "processor": processor(),
        "cores": os.cpu_count(),
        "memory_gib": round(pages * page / 2**30, 1),
        "gpus": [torch.cuda.get_device_name(index) for index in range(torch.cuda.device_count())],
        "threads": torch.get_num_threads(),
    }


def processor() -> str:
    """The processor's model name, if Linux states it."""
    return processor_facts().get("model name") or platform.processor() or platform.machine()


def processor_facts() -> dict[str, str]:
    """The last processor's entries in /proc/cpuinfo; empty on other systems than Linux."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return {}
    return {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in lines)}


def _git(root: Path, *arguments: str) -> str | None:
    # A hook's GIT_DIR would name another repository; `git status` without the option may break a running commit.
    environment = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    try:
        command = ["git", "--no-optional-locks", *arguments]
        return subprocess.check_output(
            command, cwd=root, env=environment, stderr=subprocess.DEVNULL, text=True, timeout=10
        ).strip()
    except (OSError, subprocess.SubprocessError):
        return None
