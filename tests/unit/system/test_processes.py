"""The number of processes follows `trainer.devices` outside a group, and the group inside one."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from aiayn.errors import UserError
from aiayn.system import machine, processes

GROUPS: list[dict[str, str]] = [
    {"TORCHELASTIC_RUN_ID": "none", "RANK": "3", "LOCAL_RANK": "1", "WORLD_SIZE": "4"},
    {"SLURM_PROCID": "3", "SLURM_LOCALID": "1", "SLURM_STEP_NUM_TASKS": "4", "SLURM_NTASKS": "4"},
    {  # torchrun inside a Slurm job
        "SLURM_PROCID": "0",
        "SLURM_LOCALID": "0",
        "SLURM_STEP_NUM_TASKS": "2",
        "TORCHELASTIC_RUN_ID": "none",
        "RANK": "3",
        "LOCAL_RANK": "1",
        "WORLD_SIZE": "4",
    },
]

SLURM = ("SLURM_PROCID", "SLURM_LOCALID", "SLURM_NTASKS", "SLURM_STEP_NUM_TASKS")

OUTSIDE: list[dict[str, str]] = [
    {},
    {"RANK": "3", "WORLD_SIZE": "8"},  # left over
    {"SLURM_PROCID": "0", "SLURM_NTASKS": "4"},  # a batch script, which is none of its job's tasks
    {"SLURM_PROCID": "0", "SLURM_NTASKS": "1", "SLURM_STEP_NUM_TASKS": "1"},  # a lone task
]


@pytest.fixture(autouse=True)
def no_group(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever started the tests, they are no rank."""
    for name in (*processes.GROUP_VARIABLES, *SLURM):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(("devices", "count"), [(3, 3), ("2", 2), ("0, 2, 5", 3), ([0, 1], 2), ([3], 1)])
def test_counts_and_lists_are_counted(devices: object, count: int) -> None:
    assert processes.devices_per_node({"devices": devices, "accelerator": "gpu"}) == count


@pytest.mark.parametrize("devices", ["auto", -1, "-1"])
def test_auto_is_every_gpu_or_one_process(devices: object) -> None:
    assert processes.devices_per_node({"devices": devices, "accelerator": "cpu"}) == 1
    for accelerator in ("auto", "gpu", "cuda"):
        asked = {"devices": devices, "accelerator": accelerator}
        assert processes.devices_per_node(asked) == max(1, torch.cuda.device_count())


@pytest.mark.parametrize(
    "devices",
    [
        *(0, -2, "0", "", ",", 1.5, None, {"gpu": 1}, "0,one", "0;1,2", "--2", "1,-1", "1,1"),
        *([], ["a", "b"], [0, "a"], [[0]], [-1], [0, 0], [True]),
    ],
)
def test_other_values_are_refused(devices: object) -> None:
    with pytest.raises(UserError, match=r"^trainer\.devices=.*: state a number from 1"):
        processes.devices_per_node({"devices": devices})


@given(st.lists(st.integers(0, 99), min_size=2, unique=True), st.sampled_from([",", ", "]))
def test_a_list_as_text_is_the_list(devices: list[int], separator: str) -> None:
    text = separator.join(map(str, devices))
    assert processes.devices_per_node({"devices": text}) == processes.devices_per_node({"devices": devices})


@pytest.mark.parametrize("environment", OUTSIDE)
def test_outside_a_group_there_is_one_rank(environment: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert not processes.is_rank()
    assert (processes.rank(), processes.local_rank(), processes.group_size()) == (0, 0, 1)
    processes.check_group_size({"devices": 2})
    with pytest.raises(UserError, match=r"trainer\.num_nodes=2: .* torchrun"):
        processes.check_group_size({"devices": 2, "num_nodes": 2})


@pytest.mark.parametrize("accelerator", ["cpu", "auto"])
def test_more_processes_than_the_cores_can_serve_are_refused(accelerator: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(machine.VISIBLE, "")
    most = processes.PROCESSES_PER_CORE * len(machine.cores())
    processes.check_group_size({"devices": most, "accelerator": accelerator})
    with pytest.raises(UserError, match=rf"^trainer\.devices={most + 1}: .*; state at most {most}$"):
        processes.check_group_size({"devices": most + 1, "accelerator": accelerator})


def test_the_limit_is_for_processors_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (GROUPS[0] | {"WORLD_SIZE": "10000"}).items():
        monkeypatch.setenv(name, value)
    processes.check_group_size({"devices": 10_000, "accelerator": "cpu"})


@given(visible=st.integers(1, 100), asked=st.integers(1, 100))
def test_a_run_asks_for_no_more_gpus_than_there_are(visible: int, asked: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CUDA_VISIBLE_DEVICES", ",".join(map(str, range(visible))))
        if asked <= visible:
            processes.check_group_size({"devices": asked, "accelerator": "gpu"})
        else:
            shown = f"{visible} GPU{'s' if visible > 1 else ''}"
            with pytest.raises(UserError, match=rf"^trainer\.devices={asked}: this machine shows {shown} \(0"):
                processes.check_group_size({"devices": asked, "accelerator": "gpu"})


def test_without_a_gpu_the_cpu_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    with pytest.raises(UserError, match=r"^trainer\.accelerator=gpu: this machine shows no GPU; take trainer=cpu$"):
        processes.check_group_size({"devices": 1, "accelerator": "gpu"})


@pytest.mark.parametrize("environment", GROUPS)
def test_inside_a_group_the_group_counts(environment: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert processes.is_rank()
    assert (processes.rank(), processes.local_rank(), processes.group_size()) == (3, 1, 4)
    for trainer in ({"devices": 4}, {"devices": 2, "num_nodes": 2}, {"devices": 1, "num_nodes": 4}):
        processes.check_group_size(trainer)
    for trainer in ({"devices": 2}, {"devices": 4, "num_nodes": 2}):
        with pytest.raises(UserError, match="started 4"):
            processes.check_group_size(trainer)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="zombies are told by /proc")
def test_a_zombie_is_not_alive() -> None:
    assert machine.is_alive(os.getpid())
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    assert machine.is_alive(child.pid)
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert not machine.is_alive(child.pid)
    child.communicate()
    assert not machine.is_alive(child.pid)


@pytest.mark.parametrize(
    ("variables", "complaint"),
    [
        ({"SLURM_STEP_NUM_TASKS": "abc"}, "SLURM_STEP_NUM_TASKS=abc: must be a whole number"),
        ({"SLURM_STEP_NUM_TASKS": "2", "SLURM_PROCID": ""}, "SLURM_PROCID=: must be a whole number"),
        ({"TORCHELASTIC_RUN_ID": "1", "WORLD_SIZE": "2", "RANK": "-1"}, "RANK=-1: must be a whole number"),
        ({"TORCHELASTIC_RUN_ID": "1", "WORLD_SIZE": "2", "RANK": "5"}, "RANK=5: WORLD_SIZE=2 has ranks 0 to 1"),
        ({"TORCHELASTIC_RUN_ID": "1", "WORLD_SIZE": "0", "RANK": "0"}, "RANK=0: WORLD_SIZE=0 has ranks"),
    ],
)
def test_a_wrong_variable_of_a_group_is_named(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], complaint: str
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(UserError, match=f"^{complaint}"):
        processes.rank()
