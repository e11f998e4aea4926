"""Let the threads of one process share a machine with others."""

import os


def wait_passively() -> None:
    """Have OpenMP threads sleep while they wait, unless the user chose otherwise; to be called before torch is loaded.

    By default they spin. Where other work wants the same cores, a thread then spins away the time in which the one that
    it waits for could run: training was seen to be ten times as slow (docs/log.md).
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
