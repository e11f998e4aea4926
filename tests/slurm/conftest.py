"""The cluster that all tests here share. Every one of them carries the marker `slurm`."""

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.slurm.cluster import Cluster, missing
else:
    from cluster import Cluster, missing


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Two idle nodes. Where they cannot be had the test skips; under AIAYN_REQUIRE_SLURM=1 it fails."""
    if lacking := missing():
        reason = f"a Slurm cluster needs {' and '.join(lacking)}"
        if os.environ.get("AIAYN_REQUIRE_SLURM") == "1":
            pytest.fail(reason)
        pytest.skip(reason)
    with Cluster(tmp_path_factory.mktemp("slurm") / "cluster") as started:
        yield started
