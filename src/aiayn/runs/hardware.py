"""The machine that an attempt runs on."""

import os
import platform
from pathlib import Path

from typing_extensions import TypedDict


class Hardware(TypedDict, total=False):
    """The machine of an attempt, as torch and the system name it."""

    processor: str
    """The processor's model name."""
    cores: int | None
    """The number of logical processors; None if unknown."""
    memory_gib: float
    """The memory in GiB."""
    gpus: list[str]
    """The names of the GPUs that torch sees."""
    threads: int
    """The threads of one process."""
    processes: int
    """The processes of the attempt."""


def hardware() -> Hardware:
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
