"""Environment variables that torch's libraries read once, when they are loaded."""

import os

SETTINGS = {
    # OpenMP's threads spin while they wait. If other work shares the cores, they take the time of the threads that
    # they wait for: training was ten times as slow (docs/log.md).
    "OMP_WAIT_POLICY": "PASSIVE",
    # oneDNN and torch each cache 1,024 compiled products. Their code lies between tensors and fragments the memory
    # that is freed around it, so that a process grows with the cache (docs/log.md). A step has about 35 products.
    "ONEDNN_PRIMITIVE_CACHE_CAPACITY": "32",
    "LRU_CACHE_CAPACITY": "32",
}


def set_torch_environment() -> None:
    """Set the variables that the user has not set; call before torch is loaded."""
    for variable, value in SETTINGS.items():
        os.environ.setdefault(variable, value)
