"""The share of the machine that a job asks for, and requests that are refused."""

import dataclasses
import os
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from aiayn.config.compose import compose_command
from aiayn.config.freeze import to_dataclass
from aiayn.config.schema import TrainConfig
from aiayn.errors import UserError
from aiayn.launch.shares import CORE, GPU, Lease, leased, share_of
from aiayn.system import machine


def job(*overrides: str) -> TrainConfig:
    return to_dataclass(compose_command("train", overrides), TrainConfig)


@pytest.fixture
def four_gpus(monkeypatch: pytest.MonkeyPatch) -> tuple[str, ...]:
    monkeypatch.setenv(machine.VISIBLE, "3,1,GPU-a,MIG-b")
    return "3", "1", "GPU-a", "MIG-b"


@pytest.mark.parametrize(
    ("stated", "visible"),
    [
        ("", []),
        ("-1", []),
        ("NoDevFiles", []),
        ("0", ["0"]),
        ("2, 0", ["2", "0"]),
        ("1,-1,2", ["1"]),
        ("GPU-8932f937-d72c,MIG-GPU-1/2/0", ["GPU-8932f937-d72c", "MIG-GPU-1/2/0"]),
        ("0,0,1", ["0", "1"]),
    ],
)
def test_gpus_are_those_visible_to_cuda(stated: str, visible: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(machine.VISIBLE, stated)
    assert machine.gpus() == visible


def test_without_the_variable_gpus_are_those_of_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(machine.VISIBLE, raising=False)
    assert len(machine.gpus()) == torch.cuda.device_count()


@pytest.mark.parametrize(
    ("devices", "choices", "count"),
    [("1", None, 1), ("3", None, 3), ("auto", None, 4), ("[0,2]", ("3", "GPU-a"), 2), ("[1]", ("1",), 1)],
)
def test_a_job_takes_as_many_gpus_as_it_asks_for(
    devices: str, choices: tuple[str, ...] | None, count: int, four_gpus: tuple[str, ...]
) -> None:
    share = share_of(job("trainer=gpu", f"trainer.devices={devices}", "launch.jobs_per_device=2"), jobs_at_once=9)
    assert (share.kind, share.sharers) == (GPU, 2)
    assert (share.choices, share.count, share.processes) == (choices or four_gpus, count, count)
    with leased(share) as lease:
        assert lease.environment[machine.VISIBLE].split(",") == list(share.choices[:count])
        assert not lease.cores


ON_CPU = job("trainer=cpu")


@given(jobs=st.integers(1, 300), processes=st.integers(1, 3))
def test_cores_and_threads_are_divided(jobs: int, processes: int) -> None:
    cores = machine.cores()
    config = dataclasses.replace(ON_CPU, trainer={**ON_CPU.trainer, "devices": processes})
    if processes > len(cores):
        with pytest.raises(UserError, match=rf"^trainer\.devices={processes}: "):
            share_of(config, jobs_at_once=jobs)
        return
    share = share_of(config, jobs_at_once=jobs)
    assert (share.kind, share.choices) == (CORE, tuple(map(str, cores)))
    assert share.processes <= share.processes * share.threads <= share.count
    assert share.count == processes or share.count * jobs <= len(cores)


@pytest.mark.parametrize(
    ("overrides", "key"),
    [
        (("trainer=gpu", "trainer.devices=5"), "trainer.devices=5"),
        (("trainer=gpu", "trainer.devices=[1,4]"), "trainer.devices=[1, 4]"),
        (("trainer=cpu", "trainer.devices=4096"), "trainer.devices=4096"),
        (("trainer=cpu", "launch.cores_per_job=4096"), "launch.cores_per_job=4096"),
    ],
)
@pytest.mark.usefixtures("four_gpus")
def test_more_than_the_machine_has_is_refused_in_one_line(overrides: tuple[str, ...], key: str) -> None:
    with pytest.raises(UserError) as refusal:
        share_of(job(*overrides), jobs_at_once=1)
    assert str(refusal.value).startswith(f"{key}: ")
    assert "\n" not in str(refusal.value)


def test_a_gpu_that_is_not_there_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(machine.VISIBLE, "")
    with pytest.raises(UserError, match="this machine shows no GPU"):
        share_of(job("trainer=gpu"), jobs_at_once=1)
    assert share_of(job("trainer=auto"), jobs_at_once=1).kind == CORE


def rooms(*overrides: str) -> Any:
    from hydra.core.hydra_config import HydraConfig

    compose_command("train", ["hydra/launcher=joblib", *overrides])
    return HydraConfig.get().launcher.n_jobs


@pytest.mark.usefixtures("four_gpus")
def test_the_launcher_runs_as_many_jobs_as_fit() -> None:
    cores = len(machine.cores())
    assert rooms() == 4
    assert rooms("launch.jobs_per_device=3") == 12
    assert rooms("trainer.devices=2") == 2
    assert rooms("trainer.devices=[0,1,3]") == 1
    assert rooms("trainer.devices=auto", "launch.jobs_per_device=2") == 2
    assert rooms("trainer=cpu") == cores
    assert rooms("trainer=cpu", "launch.cores_per_job=2") == max(1, cores // 2)
    assert rooms("trainer=cpu", f"launch.cores_per_job={2 * cores}") == 1


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="no affinity here")
def test_only_the_block_is_pinned() -> None:
    before = os.sched_getaffinity(0)
    lease = Lease(names=(), environment={}, cores=frozenset({min(before)}), descriptors=())
    with lease.pinned():
        assert os.sched_getaffinity(0) == {min(before)}
    assert os.sched_getaffinity(0) == before
