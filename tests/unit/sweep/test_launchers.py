"""A multirun is one process: torchrun and srun would start it several times."""

from pathlib import Path
from typing import Any

import pytest

from aiayn.sweep.launchers import check_no_group

GROUPS = {
    "torchrun": {"TORCHELASTIC_RUN_ID": "none", "RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "1"},
    "srun": {"SLURM_JOB_ID": "1", "SLURM_PROCID": "0", "SLURM_LOCALID": "0", "SLURM_STEP_NUM_TASKS": "2"},
}

BATCH_SCRIPT = {"SLURM_JOB_ID": "1", "SLURM_PROCID": "0", "SLURM_NTASKS": "2"}


def enter(group: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in group.items():
        monkeypatch.setenv(name, value)


@pytest.mark.parametrize(
    ("group", "words"),
    [
        ("torchrun", ("-m", "seed=1,2")),
        ("srun", ("-m", "seed=1,2")),
        ("srun", ("-m", "seed=1,2", "hydra/launcher=joblib")),
        ("torchrun", ("-m", "seed=1,2", "hydra/launcher=slurm")),
        ("torchrun", ("sweeps=search", "model.dropout=interval(0.0, 0.4)")),
    ],
)
def test_a_multirun_in_a_group_is_refused(
    aiayn: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, group: str, words: tuple[str, ...]
) -> None:
    enter(GROUPS[group], monkeypatch)
    said = aiayn("train", "logger=none", *words)
    assert (said.code, said.out) == (2, "")
    assert said.err.count("aiayn: torchrun or srun started this multirun ") == 1
    assert not list(tmp_path.rglob("run.json")), "no run has begun"
    assert not list(tmp_path.rglob("search.db")), "no trial is left unfinished"


def test_a_batch_script_of_several_tasks_is_one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    enter(BATCH_SCRIPT, monkeypatch)
    check_no_group()
