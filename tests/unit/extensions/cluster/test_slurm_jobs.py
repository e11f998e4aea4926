"""The resources that a job requests of Slurm, and the errors without Slurm."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from omegaconf import OmegaConf

from aiayn.config.compose import compose_command
from aiayn.config.freeze import to_dataclass
from aiayn.config.schema import TrainConfig
from aiayn.config.store import launcher_values
from aiayn.errors import UserError
from aiayn.extensions.cluster.schema import SlurmConfig
from aiayn.extensions.cluster.slurm import Shape, parameters, shape_of


def settings(**values: Any) -> SlurmConfig:
    config = OmegaConf.merge(OmegaConf.structured(SlurmConfig), OmegaConf.load(launcher_values("slurm")), values)
    found = OmegaConf.to_object(OmegaConf.merge(config, {"submitit_folder": "logs/%j"}))
    assert isinstance(found, SlurmConfig)
    return found


def shape(*words: str, **values: Any) -> Shape:
    return shape_of(to_dataclass(compose_command("train", words), TrainConfig), settings(**values))


def test_tasks_follow_from_devices_and_gpus_from_the_accelerator() -> None:
    assert shape() == Shape(1, 1, None)
    assert shape("trainer=cpu", "trainer.devices=2", "trainer.num_nodes=3") == Shape(3, 2, None)
    assert shape("trainer=gpu", "trainer.devices=8", "trainer.num_nodes=2") == Shape(2, 8, 8)
    assert shape("trainer.devices=4", gpus_per_node=4) == Shape(1, 4, 4)


@pytest.mark.parametrize("devices", ["auto", "-1", "[0,1]"])
def test_the_number_of_devices_must_be_stated(devices: str) -> None:
    with pytest.raises(UserError, match=r"trainer\.devices=.*state a number"):
        shape(f"trainer.devices={devices}")


def test_null_leaves_a_setting_to_the_cluster() -> None:
    asked = parameters(settings(), Shape())
    assert {key for key, value in asked.items() if value is None} == {
        *("partition", "account", "qos", "constraint", "gres", "gpus_per_node", "mem", "time", "wckey")
    }
    assert asked["additional_parameters"] == {"signal": "USR1@120", "requeue": True}


def test_stated_settings_are_requested() -> None:
    stated = settings(requeue=False, mem_gb=1.5, timeout_min=90, signal_delay_s=60, setup=["module load cuda"])
    asked = parameters(stated, Shape(2, 8, 8))
    assert (asked["nodes"], asked["ntasks_per_node"], asked["gpus_per_node"]) == (2, 8, 8)
    assert (asked["mem"], asked["time"], asked["setup"][-1]) == ("1536M", 90, "module load cuda")
    assert asked["additional_parameters"] == {"signal": "USR1@60", "no-requeue": True}
    mine = settings(additional_parameters={"signal": "USR1@300", "exclude": "n1"})
    assert parameters(mine, Shape())["additional_parameters"] == {
        "signal": "USR1@300",
        "requeue": True,
        "exclude": "n1",
    }


def test_without_slurm_it_is_one_line(aiayn: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    said = aiayn("train", "-m", "seed=1,2", "hydra/launcher=slurm")
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith("aiayn: hydra/launcher=slurm: sbatch is not installed here")
    assert said.err.count("\n") == 1
    assert not list(tmp_path.rglob(".jobs-*"))


def test_without_submitit_it_is_one_line(tmp_path: Path) -> None:
    line = "import sys; sys.modules['submitit'] = None; from aiayn.__main__ import main; sys.exit(main())"
    words = ["train", "-m", "seed=1,2", "hydra/launcher=slurm"]
    said = subprocess.run(
        [sys.executable, "-c", line, *words], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    answer = "aiayn: hydra/launcher=slurm: submitit is not installed; pip install -e '.[slurm]' in the checkout\n"
    assert (said.returncode, said.stdout, said.stderr) == (2, "", answer)


SBATCH = """#!/bin/sh
if [ -e first ]; then
  kill -INT $PPID
  sleep 5
fi
touch first
echo Submitted batch job 7
"""


@pytest.mark.slow
def test_an_interrupt_between_two_submissions_names_the_jobs_that_slurm_has(tmp_path: Path) -> None:
    for name in ("sbatch", "srun"):
        (tmp_path / name).write_text(SBATCH)
        (tmp_path / name).chmod(0o755)
    words = ["train", "-m", "trainer.devices=1,2", "trainer=cpu", "hydra/launcher=slurm", "logger=none"]
    said = subprocess.run(
        [sys.executable, "-m", "aiayn", *words],
        cwd=tmp_path,
        env={**os.environ, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (said.returncode, said.stderr.splitlines()[-1]) == (1, "aiayn: interrupted")
    assert "Slurm keeps the jobs; `scancel 7` ends them" in said.stderr
