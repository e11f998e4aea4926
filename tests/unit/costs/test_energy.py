"""Energy follows its counters, across their wrap-around; it is None if one cannot be read."""

import itertools
from pathlib import Path

import pynvml
import pytest
import torch

from aiayn.costs.energy import Energy, gpu_counters, processor_counters

END = 262_143_328_850
"""Microjoules at which a package's counter wraps around, as on Intel's."""


def zone(root: Path, folder: str, name: str, microjoules: int) -> Path:
    path = root / folder
    path.mkdir(parents=True)
    (path / "name").write_text(f"{name}\n")
    (path / "max_energy_range_uj").write_text(f"{END}\n")
    (path / "energy_uj").write_text(f"{microjoules}\n")
    return path


def test_packages_are_summed_without_their_parts(tmp_path: Path) -> None:
    packages = [zone(tmp_path, f"intel-rapl:{number}", f"package-{number}", 7_000_000) for number in (0, 1)]
    zone(tmp_path, "intel-rapl:0:0", "core", 1)
    zone(tmp_path, "intel-rapl:2", "psys", 1)
    zone(tmp_path, "intel-rapl-mmio:0", "package-0", 7_000_000)  # the same package by another interface
    energy = Energy(processor_counters(tmp_path))
    assert energy.joules() == 0
    for package, later in zip(packages, (9_000_000, 7_500_000), strict=True):
        (package / "energy_uj").write_text(f"{later}\n")
    assert energy.joules() == pytest.approx(2.5)
    assert energy.joules() == pytest.approx(2.5)


def test_a_counter_that_wrapped_around_keeps_its_sum(tmp_path: Path) -> None:
    package = zone(tmp_path, "intel-rapl:0", "package-0", END - 1_000_000)
    energy = Energy(processor_counters(tmp_path))
    for rounds in (1, 2):
        for now in (500_000, END - 1_000_000):
            (package / "energy_uj").write_text(f"{now}\n")
            counted = energy.joules()
        assert counted == pytest.approx(rounds * END / 1e6)


@pytest.mark.parametrize("content", [None, "", "many"])
def test_a_counter_that_cannot_be_read_is_none(tmp_path: Path, content: str | None) -> None:
    assert Energy(processor_counters(tmp_path / "nowhere")).joules() is None
    package = zone(tmp_path, "intel-rapl:0", "package-0", 1)
    zone(tmp_path, "intel-rapl:1", "package-1", 1)
    if content is None:
        (package / "energy_uj").unlink()
    else:
        (package / "energy_uj").write_text(content)
    assert processor_counters(tmp_path) == []


def test_a_counter_that_disappears_makes_the_sum_unknown(tmp_path: Path) -> None:
    package = zone(tmp_path, "intel-rapl:0", "package-0", 1)
    energy = Energy(processor_counters(tmp_path))
    (package / "energy_uj").unlink()
    assert energy.joules() is None
    (package / "energy_uj").write_text("5000000\n")
    assert energy.joules() is None


def test_a_gpu_is_counted_by_its_uuid(monkeypatch: pytest.MonkeyPatch) -> None:
    millijoules = itertools.count(41_000, 1500)

    def handle(uuid: str) -> str:
        if uuid != "GPU-1":
            raise pynvml.NVMLError(pynvml.NVML_ERROR_NOT_FOUND)
        return uuid

    def counted(_: str) -> int:
        if (now := next(millijoules)) > 47_000:
            raise pynvml.NVMLError(pynvml.NVML_ERROR_GPU_IS_LOST)
        return now

    monkeypatch.setattr(pynvml, "nvmlInit", lambda: None)
    monkeypatch.setattr(pynvml, "nvmlDeviceGetHandleByUUID", handle)
    monkeypatch.setattr(pynvml, "nvmlDeviceGetTotalEnergyConsumption", counted)
    assert gpu_counters(["GPU-2"]) == []
    energy = Energy(gpu_counters(["GPU-1"]))
    assert [energy.joules() for _ in range(4)] == [1.5, 3.0, 4.5, None]


@pytest.mark.skipif(torch.cuda.is_available(), reason="has a driver")
def test_without_a_driver_nothing_is_counted() -> None:
    assert gpu_counters(["GPU-1"]) == []
    assert Energy([]).joules() is None
