"""The stages of `make gpu` with tiny sizes, on the CPU and where there is a GPU."""

import os
import shutil
import subprocess
import sysconfig
import venv
from pathlib import Path

import numpy as np
import pytest
from gpu_bench import kept, measure, shown

import gpu
import one_gpu
from aiayn.data.batches.epoch_plan import plan_epoch
from gpu_stages import SHORT, TOKENS, made_up_text
from gpu_table3 import rows_side_by_side

pytestmark = [
    pytest.mark.long,
    pytest.mark.filterwarnings(
        "ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::UserWarning"
    ),  # Inductor's
]


def test_experiments_a_profile_and_a_search_are_measured(tmp_path: Path) -> None:
    assert measure(tmp_path, "experiments", "profile", "decoding") == 0
    assert {*kept(tmp_path, "experiments")} == {"table3/base", "baselines/luong"}
    (profiled,) = kept(tmp_path, "profile").values()
    parts = [profiled[name] for name in ("products", "attention", "optimizer", "element-wise, copies")]
    assert min(parts) > 0
    assert sum(parts) == pytest.approx(1, abs=0.01)
    assert profiled["steps recorded"] == 2
    page = shown(tmp_path, "profile")
    assert "| base bf16 | made up | 4 | 2 |" in page
    assert "Self CPU time total: " in page
    assert page.count("\n  ") > 10, "the operations, one on a line"
    (searched,) = kept(tmp_path, "decoding").values()
    assert searched["target tokens/s"] > searched["sentences/s"] > 0


def test_an_interpreter_without_an_installed_aiayn_is_enough(tmp_path: Path) -> None:
    """As on a machine without an index, where only the packages that aiayn requires are installed."""
    venv.create(tmp_path / "venv", symlinks=True)
    (packages,) = (tmp_path / "venv" / "lib").glob("python*/site-packages")
    for path in Path(sysconfig.get_path("purelib")).iterdir():
        if "aiayn" not in path.name:
            (packages / path.name).symlink_to(path)
    python, root = tmp_path / "venv" / "bin" / "python", Path(gpu.__file__).parents[1]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(str(root / name) for name in ("src", "benchmarks"))}
    metadata = "import importlib.metadata as found; found.version('torch'); found.version('aiayn')"
    absent = subprocess.run([python, "-c", metadata], env=environment, capture_output=True, text=True, check=False)
    assert "PackageNotFoundError: No package metadata was found for aiayn" in absent.stderr
    folders = [f"--{name}={tmp_path / name}" for name in ("output", "work")]
    words = ["experiments", "--device=cpu", "--tiny", *folders]
    done = subprocess.run(
        [python, gpu.__file__, *words], env=environment, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert all(each["test ppl"] > 1 for each in kept(tmp_path, "experiments").values())


@pytest.mark.skipif(shutil.which("g++") is None, reason="compiling takes a compiler")
def test_shapes_are_counted_and_a_compiled_model_is_measured(tmp_path: Path) -> None:
    assert measure(tmp_path, "speed", "compiled") == 0
    speeds = kept(tmp_path, "speed")
    assert {name: each["shapes"] for name, each in speeds.items()} == {"base fp32": 8, "base bf16 compiled": 8}
    for each in speeds.values():
        assert 0 < each["target tokens/s"] < each["tokens/s"]
        assert each["MFU"] > 0
    assert kept(tmp_path, "compiled")["table3/base"]["test ppl"] > 1


def test_rows_of_table_3_run_side_by_side_and_continue_after_the_limit(tmp_path: Path) -> None:
    words = [*SHORT, "trainer.accelerator=cpu", "trainer.devices=1"]
    stopped = rows_side_by_side(words, "cpu", work=tmp_path, rows=2, seconds=2)
    assert stopped["finished"] < 2
    assert "the same command continues" in stopped["failure"]
    found = rows_side_by_side(words, "cpu", work=tmp_path, rows=2)
    assert (found["rows"], found["finished"]) == (2, 2)
    assert "failure" not in found
    assert "| c_n2 |" in found["report"]


def test_over_200_shapes_come_before_the_measured_steps(tmp_path: Path) -> None:
    words = dict(word.split("=", 1) for word in made_up_text(tmp_path, sentences=120_000))
    source, target = (
        np.array([len(line.split()) + 1 for line in Path(words[f"data.train.{side}"]).read_text().splitlines()])
        for side in ("source", "target")
    )
    shapes = set[tuple[int, ...]]()
    steps, epoch = 0, 0
    while steps < 240:
        for batch in plan_epoch(source, target, source_tokens=TOKENS, target_tokens=TOKENS, seed=1, epoch=epoch):
            sides = ((int(side[batch].sum()), int(side[batch].max())) for side in (source, target))
            shapes.add((len(batch), *(size for side in sides for size in side)))
            steps += 1
        epoch += 1
    assert len(shapes) > 200


def test_the_quick_benchmark_of_one_gpu_has_a_row_for_training_and_one_for_the_search() -> None:
    training, search = one_gpu.measure(quick=True)
    assert (training.contender, training.unit) == ("base", "target tokens/s")
    assert training.value is not None
    assert training.value > 0
    assert search.unit == "s"
