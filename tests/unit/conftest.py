"""A command line in this process, in an empty folder of its own."""

import logging
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from commands import Said, Say

from aiayn.commands.front_end import main
from aiayn.config.difference import SWEEP_VARIABLE


@pytest.fixture
def aiayn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Say]:
    root = logging.getLogger()
    level, handlers = root.level, list(root.handlers)
    monkeypatch.chdir(tmp_path)
    # The front end sets these for Hydra; they are restored after the test.
    monkeypatch.setattr(sys, "argv", sys.argv)
    monkeypatch.setitem(os.environ, "HYDRA_FULL_ERROR", "1")
    monkeypatch.setenv(SWEEP_VARIABLE, "")
    monkeypatch.delenv(SWEEP_VARIABLE)

    def call(*words: str) -> Said:
        capsys.readouterr()
        code = main(words)
        return Said(code, *capsys.readouterr())

    yield call
    # `--info` has Hydra log all that it does, from then on; a multirun of plan or check ends with all loggers disabled.
    root.setLevel(level)
    root.handlers[:] = handlers
    logging.getLogger("aiayn").disabled = False
