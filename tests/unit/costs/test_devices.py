"""Rates of devices: the paper's, the maker's or measured; unknown ones stay unknown."""

import dataclasses

import pytest
import torch

from aiayn.config.compose import compose_command
from aiayn.costs.devices import OwnDevice, gpu, group_by_name, own_device, product_flops, stated_hardware
from aiayn.paper.recipe import load_recipe
from aiayn.runs.cost import Basis, Devices

CPU = torch.device("cpu")


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("Tesla K80", "K80"),
        ("Tesla K40m", "K40"),
        ("Tesla M40 24GB", "M40"),
        ("Tesla P100-SXM2-16GB", "P100"),
        ("Tesla P100-PCIE-12GB", "P100"),
    ],
)
def test_the_papers_gpus_sustain_the_rates_of_its_footnote(name: str, kind: str) -> None:
    found = gpu(name, precision="32-true")
    assert (found.sustained_flops, found.basis) == (load_recipe().hardware.sustained_flops[kind], Basis.paper)


@pytest.mark.parametrize(
    "name", ["NVIDIA A100-SXM4-80GB", "NVIDIA H100 80GB HBM3", "NVIDIA H200", "Tesla V100-SXM2-16GB"]
)
def test_later_gpus_have_their_makers_peaks(name: str) -> None:
    single, half = (gpu(name, precision=precision) for precision in ("32-true", "bf16-mixed"))
    assert single.sustained_flops == single.peak_flops == half.sustained_flops
    assert half.peak_flops is not None
    assert half.peak_flops > 4 * (single.peak_flops or 0)
    assert single.basis is half.basis is Basis.stated
    assert gpu(name, precision="64-true").peak_flops is None


@pytest.mark.parametrize("name", ["NVIDIA A100-SXM4-80GB MIG 1g.10gb", "NVIDIA H100 PCIe", "GeForce GT 730", "M4000"])
def test_rates_of_other_gpus_are_unknown(name: str) -> None:
    assert gpu(name, precision="bf16-mixed") == Devices(name, 1)


def test_a_processor_is_measured_unless_disabled() -> None:
    assert product_flops(0.01) > 1e8
    measured, half, unmeasured = (
        own_device(CPU, precision=precision, probe_seconds=seconds).devices
        for precision, seconds in (("32-true", 0.01), ("bf16-mixed", 0.01), ("32-true", 0.0))
    )
    assert measured.basis is Basis.measured
    assert measured.peak_flops == measured.sustained_flops
    assert half.peak_flops is None
    assert (unmeasured.sustained_flops, unmeasured.peak_flops, unmeasured.basis) == (None, None, None)


def test_ranks_on_devices_of_one_name_stand_group_by_name() -> None:
    names = ["A", "B", "A", "A"]
    ranks = [
        OwnDevice("host", None, Devices(name, 1, speed, None, Basis.measured))
        for name, speed in zip(names, (1.0, 5.0, 2.0, 3.0), strict=True)
    ]
    assert group_by_name(ranks) == (
        Devices("A", 3, 2.0, None, Basis.measured),
        Devices("B", 1, 5.0, None, Basis.measured),
    )


REPORTED = {
    "NVIDIA A100-SXM4-40GB": "a100",
    "A100-SXM4-80GB": "a100",
    "NVIDIA A100 80GB PCIe": "a100",
    "NVIDIA H100 80GB HBM3": "h100",
    "NVIDIA H200": "h200",
    "Tesla P100-SXM2-16GB": "p100",
    "Tesla V100-SXM2-32GB": "v100",
}


@pytest.mark.parametrize("option", sorted({*REPORTED.values()}))
def test_a_device_is_the_one_that_a_plan_is_made_for(option: str) -> None:
    planned = compose_command("plan", [f"hardware={option}"]).hardware
    for reported in (name for name, its_option in REPORTED.items() if its_option == option):
        stated = stated_hardware(reported)
        assert stated is not None, reported
        assert dataclasses.asdict(stated) == planned
        assert stated.peak_flops == max(stated.single_flops or 0, stated.half_flops or 0)


@pytest.mark.parametrize("reported", ["", "NVIDIA H200 MIG 1g.18gb", "NVIDIA H100 PCIe", "this machine"])
def test_no_other_device_is_taken_for_one(reported: str) -> None:
    assert stated_hardware(reported) is None


def test_the_papers_gpu_is_as_the_paper_has_it() -> None:
    stated = stated_hardware("Tesla P100-PCIE-16GB")
    assert stated is not None
    assert stated.single_flops == load_recipe().hardware.sustained_flops[stated.name]
