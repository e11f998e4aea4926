"""Let the threads of one process share a machine with others."""

import os


def wait_passively() -> None:
    """Have OpenMP threads sleep while they wait, unless the user chose otherwise; to be called before torch is loaded.

    By default they spin. Where other work wants the same cores, a thread then spins away the time in which the one that
    it waits for could run: training was seen to be ten times as slow (docs/log.md).
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")


def remember_few_products() -> None:
    """Bound how many compiled products oneDNN and torch remember each; to be called before torch is loaded.

    By default 1,024, of about a megabyte: with batches of ever new shapes that becomes gigabytes. A training step has
    about 40, and those of a run come in few shapes (`ROWS_MULTIPLE` in models/products.py).
    """
    for variable in ("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "LRU_CACHE_CAPACITY"):
        os.environ.setdefault(variable, "256")
