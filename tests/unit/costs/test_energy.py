"""Energy is what a counter says, over its end too, and nothing where no counter can be read."""

import shutil
import subprocess
from pathlib import Path

import pytest

from aiayn.costs.energy import Energy, gpu_counters, processor_counters

END = 262_143_328_850
"""Microjoules after which the counter of a package begins anew, as Intel's do."""


def zone(root: Path, folder: str, name: str, microjoules: int) -> Path:
    path = root / folder
    path.mkdir(parents=True)
    (path / "name").write_text(f"{name}\n")
    (path / "max_energy_range_uj").write_text(f"{END}\n")
    (path / "energy_uj").write_text(f"{microjoules}\n")
    return path


def test_packages_are_added_up_and_their_parts_left_out(tmp_path: Path) -> None:
    packages = [zone(tmp_path, f"intel-rapl:{number}", f"package-{number}", 7_000_000) for number in (0, 1)]
    zone(tmp_path, "intel-rapl:0:0", "core", 1)
    zone(tmp_path, "intel-rapl:2", "psys", 1)
    zone(tmp_path, "intel-rapl-mmio:0", "package-0", 7_000_000)  # the same package, seen otherwise
    energy = Energy(processor_counters(tmp_path))
    assert energy.joules() == 0
    for package, later in zip(packages, (9_000_000, 7_500_000), strict=True):
        (package / "energy_uj").write_text(f"{later}\n")
    assert energy.joules() == pytest.approx(2.5)
    assert energy.joules() == pytest.approx(2.5)


def test_a_counter_that_began_anew_goes_on(tmp_path: Path) -> None:
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


def test_a_counter_that_goes_away_takes_the_sum_with_it(tmp_path: Path) -> None:
    package = zone(tmp_path, "intel-rapl:0", "package-0", 1)
    energy = Energy(processor_counters(tmp_path))
    (package / "energy_uj").unlink()
    assert energy.joules() is None
    (package / "energy_uj").write_text("5000000\n")
    assert energy.joules() is None


NVML = """
#include <string.h>
static unsigned long long counted = 41000;
int nvmlInit_v2(void) { return 0; }
int nvmlDeviceGetHandleByUUID(const char *uuid, void **handle) {
  *handle = &counted;
  return strcmp(uuid, "GPU-1") ? 6 : 0;
}
int nvmlDeviceGetTotalEnergyConsumption(void *handle, unsigned long long *millijoules) {
  *millijoules = *(unsigned long long *)handle += 1500;
  return 0;
}
"""


@pytest.fixture(scope="module")
def nvml(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A library with the three functions, whose counter rises by 1.5 joules each time."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    folder = tmp_path_factory.mktemp("nvml")
    (folder / "nvml.c").write_text(NVML)
    subprocess.run([compiler, "-shared", "-fPIC", "-o", "nvml.so", "nvml.c"], cwd=folder, check=True)
    return str(folder / "nvml.so")


def test_the_driver_counts_a_gpu_by_its_uuid(nvml: str) -> None:
    energy = Energy(gpu_counters(["GPU-1"], library=nvml))
    assert energy.joules() == pytest.approx(1.5)
    assert energy.joules() == pytest.approx(3.0)


def test_a_gpu_that_the_driver_does_not_know_is_none(nvml: str) -> None:
    assert gpu_counters(["GPU-1", "GPU-2"], library=nvml) == []
    assert gpu_counters(["GPU-1"], library="libno-such-driver.so") == []
    assert gpu_counters(["GPU-1"], library="libc.so.6") == []
