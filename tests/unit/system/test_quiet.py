"""Remarks of libraries that no user can act on are hidden."""

import os
import subprocess
import sys

import pytest

CODE = """
import logging, sys, warnings
from pytorch_lightning.utilities.rank_zero import rank_zero_info
from aiayn.system.quiet import quiet_libraries

def remark():
    rank_zero_info("Tip: try litlogger")
    warnings.warn("Guards may run slower on Python 3.13.0. Consider upgrading to Python 3.13.1+.", RuntimeWarning)
    logging.getLogger("torch.utils.cpp_extension").warning("No CUDA runtime is found")
    warnings.warn("another warning", RuntimeWarning)

warnings.simplefilter("always")
remark()
quiet_libraries()
print("QUIET", file=sys.stderr)
remark()
import torch.utils.cpp_extension
"""


@pytest.mark.long
def test_remarks_are_hidden_and_other_warnings_shown() -> None:
    environment = {**os.environ, "CUDA_HOME": "/nowhere"}  # a CUDA build of torch remarks on it where there is no GPU
    command = [sys.executable, "-c", CODE]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    loud, _, quiet = result.stderr.partition("QUIET\n")
    for remark in ("Tip", "Guards may run slower", "No CUDA runtime is found"):
        assert remark in loud
        assert remark not in quiet
    assert "another warning" in quiet
