"""Permissions as an ordinary user meets them, also where the tests run as root."""

import ctypes
import sys
from collections.abc import Iterator
from contextlib import contextmanager

VERSION = 0x20080522
"""Of the kernel's interface: two words of each set."""

IGNORES_PERMISSIONS = 1 << 1 | 1 << 2
"""CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH."""


class _Header(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("process", ctypes.c_int))


@contextmanager
def ordinary_user() -> Iterator[None]:
    """Within the block, this thread obeys the permissions of files, which root otherwise ignores."""
    if sys.platform != "linux":
        yield
        return
    libc = ctypes.CDLL(None, use_errno=True)
    header, sets = _Header(VERSION, 0), (ctypes.c_uint32 * 6)()
    assert libc.capget(ctypes.byref(header), sets) == 0
    effective = sets[0]
    sets[0] &= ~IGNORES_PERMISSIONS
    assert libc.capset(ctypes.byref(header), sets) == 0
    try:
        yield
    finally:
        sets[0] = effective
        assert libc.capset(ctypes.byref(header), sets) == 0
