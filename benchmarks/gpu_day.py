"""The Python of gpu_day.sh, which states the variables that it reads.

python benchmarks/gpu_day.py prepare    # text and vocabulary of the runs that measure speed
python benchmarks/gpu_day.py measure    # PARTS in their order, while LEFT seconds last
"""

import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import gpu
from aiayn.system.torch_environment import set_torch_environment

if TYPE_CHECKING:
    from gpu_stages import Bench

LAST = 30
"""Seconds before the end in which no measurement begins: one that has begun is to be kept."""


def prepare(bench: "Bench") -> None:
    """Write the made-up text, and prepare it as the runs of the stage `speed` will find it."""
    from aiayn.builders.preparation import prepare_data
    from aiayn.config.compose import compose_command
    from aiayn.config.freeze import to_dataclass
    from aiayn.config.schema import TrainConfig

    words = [*bench.large_run("base", bench.speed_text(), 9), f"paths.cache={bench.work / 'cache'}"]
    prepare_data(to_dataclass(compose_command("train", words), TrainConfig))


def measure(bench: "Bench") -> None:
    """Make the measurements that PARTS names, as many as there is time for.

    Raises:
        gpu.LostDeviceError: one has left the GPU unusable for this process.
    """
    end = time.monotonic() + float(os.environ["LEFT"])
    for part in os.environ["PARTS"].split(","):
        stage, _, name = part.partition(":")
        chosen = {each: function for each, function in bench.measurements(stage).items() if name in ("", each)}
        seconds = end - time.monotonic() - LAST
        about = gpu.about_device(bench.device)
        gpu.measure(stage, chosen, Path(os.environ["OUT"]), about=about, seconds=seconds, device=bench.device)


def main() -> None:
    """Do the one or the other."""
    set_torch_environment()
    from gpu_stages import Bench

    bench = Bench(os.environ["DEVICE"], os.environ["TINY"] == "1", Path(os.environ["WORK"]))
    {"prepare": prepare, "measure": measure}[sys.argv[1]](bench)


if __name__ == "__main__":
    main()
