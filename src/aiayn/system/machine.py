"""The cores and GPUs that this process may use, and which processes run; without loading torch."""

import os
import re
import shutil
import subprocess
from functools import cache
from itertools import takewhile
from pathlib import Path

from aiayn.system import files

VISIBLE = "CUDA_VISIBLE_DEVICES"

NVIDIA = Path("/proc/driver/nvidia/gpus")
"""Has a folder for each GPU if NVIDIA's driver is loaded."""

NVIDIA_SMI_SECONDS = 30.0
"""nvidia-smi may have to load the driver of each GPU first."""


def cores() -> list[int]:
    """The numbers of the cores that this thread may run on."""
    return sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else list(range(os.cpu_count() or 1))


def gpus() -> list[str]:
    """NVIDIA's GPUs by the indices or UUIDs of `CUDA_VISIBLE_DEVICES`; all indices if it is not set."""
    stated = os.environ.get(VISIBLE)
    if stated is None:
        return [str(index) for index in range(_count_gpus())]
    names = (name.strip() for name in stated.split(","))
    valid = takewhile(re.compile(r"\d+|(GPU|MIG)-\S+").fullmatch, names)  # CUDA ignores the rest after an invalid name
    return list(dict.fromkeys(valid))


def device_names(count: int) -> list[str]:
    """The values of `device` on a machine with so many GPUs."""
    return ["auto", "cpu", *(["cuda"] if count else []), *(f"cuda:{number}" for number in range(count))]


def works_on_gpus(accelerator: object) -> bool:
    """Whether a run with this `trainer.accelerator` uses GPUs."""
    return accelerator in ("gpu", "cuda") or (accelerator == "auto" and bool(gpus()))


def is_alive(process: int) -> bool:
    """Whether a process of this machine runs; a zombie does not."""
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
    # nvidia-smi counts the GPUs of this container; the driver's folder may list those of the whole machine.
    if shutil.which("nvidia-smi"):
        try:
            answer = subprocess.run(
                ["nvidia-smi", "-L"], capture_output=True, text=True, check=True, timeout=NVIDIA_SMI_SECONDS
            )
        except (OSError, subprocess.SubprocessError):
            return 0
        return sum(line.startswith("GPU ") for line in answer.stdout.splitlines())
    return len(list(NVIDIA.iterdir())) if files.is_dir(NVIDIA) else 0
