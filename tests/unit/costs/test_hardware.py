"""conf/hardware/ is found by what torch calls a device."""

import dataclasses

import pytest

from aiayn.config.compose import compose_command
from aiayn.costs.devices import stated_hardware
from aiayn.paper.recipe import load_recipe

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
