"""What torch's libraries read from the environment, once, when they are loaded."""

import os

SETTINGS = {
    # OpenMP's threads spin while they wait. Where other work wants the same cores, one then spins away the time in
    # which another that it waits for could run: training was seen to be ten times as slow (docs/log.md).
    "OMP_WAIT_POLICY": "PASSIVE",
    # oneDNN, and torch on its own, remember 1,024 compiled products, of a megabyte or so each: with batches of ever new
    # shapes that becomes gigabytes. A training step has about 40, and those of a run come in few shapes
    # (`ROWS_MULTIPLE` in models/products.py).
    "ONEDNN_PRIMITIVE_CACHE_CAPACITY": "256",
    "LRU_CACHE_CAPACITY": "256",
}


def set_torch_environment() -> None:
    """Choose where the user did not; to be called before torch is loaded."""
    for variable, value in SETTINGS.items():
        os.environ.setdefault(variable, value)
