"""Energy follows its counters, across their wrap-around; it is None if one cannot be read."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from aiayn.costs.energy import Energy, processor_counters

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


DRIVER = """
#include <string.h>
static unsigned long long counted = 41000;
int nvmlInitWithFlags(unsigned int flags) { return 0; }
const char *nvmlErrorString(int code) { return "not found"; }
int nvmlDeviceGetHandleByUUID(const char *uuid, void **handle) {
  *handle = &counted;
  return strcmp(uuid, "GPU-1") ? 6 : 0;
}
int nvmlDeviceGetTotalEnergyConsumption(void *handle, unsigned long long *millijoules) {
  *millijoules = *(unsigned long long *)handle += 1500;
  return *millijoules > 49000 ? 15 : 0;
}
"""

SCRIPT = """
from aiayn.costs.energy import Energy, gpu_counters
print(len(gpu_counters(["GPU-1", "GPU-2"])))
energy = Energy(gpu_counters(["GPU-1"]))
print(energy.joules(), energy.joules(), energy.joules())
"""


def run_script(libraries: Path) -> list[str]:
    """Run `SCRIPT` with the driver's library in this folder."""
    environment = {**os.environ, "LD_LIBRARY_PATH": str(libraries)}
    done = subprocess.run([sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_a_gpu_is_counted_by_its_uuid(tmp_path: Path) -> None:
    (tmp_path / "nvml.c").write_text(DRIVER)
    command = ["cc", "-shared", "-fPIC", "-o", "libnvidia-ml.so.1", "nvml.c"]
    subprocess.run(command, cwd=tmp_path, check=True)
    assert run_script(tmp_path) == ["0", "1.5 3.0 None"]


@pytest.mark.skipif(torch.cuda.is_available(), reason="has a driver")
def test_without_a_driver_nothing_is_counted(tmp_path: Path) -> None:
    assert run_script(tmp_path) == ["0", "None None None"]
