"""`launch.compile=true` is the same run, made by other code."""

import shutil
from pathlib import Path

import pytest
from commands import Train
from run_files import losses, only_run


@pytest.mark.long
@pytest.mark.skipif(shutil.which("g++") is None, reason="compiling takes a compiler")
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::UserWarning")  # Inductor's
def test_a_compiled_run_has_the_losses_of_a_plain_one(train: Train, tmp_path: Path) -> None:
    for name in ("true", "false"):
        assert train(f"launch.compile={name}", "model.dropout=0", f"paths.runs={tmp_path / name}") == 0
    compiled, plain = (losses(only_run(tmp_path / name)) for name in ("true", "false"))
    assert len(plain) == 12
    assert compiled == pytest.approx(plain, rel=1e-4)
