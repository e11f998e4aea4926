"""The cluster that all tests here share; each test has the marker `slurm`."""

import os
from collections.abc import Iterator

import pytest
from cluster import Cluster, missing


@pytest.fixture(scope="session")
def shared_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Two nodes. Without Slurm's programs the test is skipped; with AIAYN_REQUIRE_SLURM=1 it fails."""
    if lacking := missing():
        reason = f"a Slurm cluster needs {'; '.join(lacking)}"
        if os.environ.get("AIAYN_REQUIRE_SLURM") == "1":
            pytest.fail(reason)
        pytest.skip(reason)
    with Cluster(tmp_path_factory.mktemp("slurm") / "cluster") as started:
        yield started


@pytest.fixture
def cluster(shared_cluster: Cluster) -> Iterator[Cluster]:
    """The same two nodes, without jobs of other tests."""
    yield shared_cluster
    shared_cluster.clear()
