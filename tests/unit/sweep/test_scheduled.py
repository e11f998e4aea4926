"""The settings of a launcher are in range before a job is submitted."""

import pytest

from aiayn.config.compose import compose_with_hydra
from aiayn.errors import UserError
from aiayn.extensions.cluster.schema import SlurmConfig
from aiayn.sweep.scheduled import launcher_settings

OUT_OF_RANGE = {
    "gpus_per_node": -1,
    "cpus_per_task": 0,
    "mem_gb": 0.0,
    "timeout_min": 0,
    "signal_delay_s": -1,
    "array_parallelism": 0,
    "poll_seconds": 0.0,
}


@pytest.mark.parametrize("key", OUT_OF_RANGE)
def test_a_setting_of_slurm_that_is_out_of_range_is_refused(key: str) -> None:
    word = f"hydra.launcher.{key}={OUT_OF_RANGE[key]}"
    with pytest.raises(UserError, match=rf"^{word}: must be (at least|greater than) "):
        launcher_settings(compose_with_hydra("train", ["hydra/launcher=slurm", word]), SlurmConfig)


def test_the_settings_of_the_file_are_in_range() -> None:
    launcher_settings(compose_with_hydra("train", ["hydra/launcher=slurm"]), SlurmConfig)
