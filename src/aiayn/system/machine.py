"""The cores and GPUs that this process may use, and what runs here, told without loading torch."""

import os
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

VISIBLE = "CUDA_VISIBLE_DEVICES"

NVIDIA = Path("/proc/driver/nvidia/gpus")
"""Has a folder for each GPU, where NVIDIA's driver is loaded."""

SECONDS_TO_ANSWER = 30.0
"""nvidia-smi may have to wake the driver of each GPU first."""


def cores() -> list[int]:
    """The cores that this thread may run on, by number."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def gpus() -> list[str]:
    """NVIDIA's GPUs as `CUDA_VISIBLE_DEVICES` names them, indices or UUIDs; all, by index, where it is not set."""
    stated = os.environ.get(VISIBLE)
    if stated is None:
        return [str(index) for index in range(_count_gpus())]
    found: dict[str, None] = {}
    for name in map(str.strip, stated.split(",")):
        if not re.fullmatch(r"\d+|(GPU|MIG)-\S+", name):
            break  # CUDA does not read on behind what names no device
        found[name] = None
    return list(found)


def works_on_gpus(accelerator: object) -> bool:
    """Whether a run with this `trainer.accelerator` will."""
    return accelerator in ("gpu", "cuda") or (accelerator == "auto" and bool(gpus()))


def is_alive(process: int) -> bool:
    """Whether a process of this machine runs; one that has ended and that nobody has reaped does not."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    try:
        return Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return True


@cache
def _count_gpus() -> int:
    # The program counts what this process may open; in a container the driver's list may be that of the whole machine.
    if shutil.which("nvidia-smi"):
        try:
            answer = subprocess.run(
                ["nvidia-smi", "-L"], capture_output=True, text=True, check=True, timeout=SECONDS_TO_ANSWER
            )
        except (OSError, subprocess.SubprocessError):
            return 0
        return sum(line.startswith("GPU ") for line in answer.stdout.splitlines())
    return len(list(NVIDIA.iterdir())) if NVIDIA.is_dir() else 0
