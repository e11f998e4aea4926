"""What torch's libraries read from the environment, once, when they are loaded."""

import os

SETTINGS = {
    # OpenMP's threads spin while they wait. Where other work wants the same cores, one then spins away the time in
    # which another that it waits for could run: training was seen to be ten times as slow (docs/log.md).
    "OMP_WAIT_POLICY": "PASSIVE",
    # oneDNN, and torch on its own, remember 1,024 compiled products each. Their code lies between the tensors of the
    # steps that they were compiled in, and freed memory around it fits no later tensor: the more are remembered, the
    # more a process holds (docs/log.md). A step has about 35, a third of them at a time in use.
    "ONEDNN_PRIMITIVE_CACHE_CAPACITY": "32",
    "LRU_CACHE_CAPACITY": "32",
}


def set_torch_environment() -> None:
    """Choose where the user did not; to be called before torch is loaded."""
    for variable, value in SETTINGS.items():
        os.environ.setdefault(variable, value)
