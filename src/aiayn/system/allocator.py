"""Keep freed memory in the C allocator: glibc returns large tensors to the kernel at every step (docs/log.md)."""

import ctypes
import sys

M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_MAX = -1, -2, -4
"""glibc's malloc.h."""


def keep_memory() -> bool:
    """Never return memory to the kernel and never map single allocations; whether the C library supports it."""
    if sys.platform != "linux":
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except AttributeError:  # another C library than glibc
        return False
    settings = {M_MMAP_MAX: 0, M_TRIM_THRESHOLD: 2**31 - 1, M_TOP_PAD: 2**20}
    return all(mallopt(parameter, value) == 1 for parameter, value in settings.items())
