"""The cluster that all tests here share; each test has the marker `ray`."""

import os
from collections.abc import Iterator

import pytest
from nodes import RayCluster, missing


@pytest.fixture(scope="session")
def cluster() -> Iterator[RayCluster]:
    """Two nodes. Without Ray the test is skipped; with AIAYN_REQUIRE_RAY=1 it fails."""
    if lacking := missing():
        reason = f"a Ray cluster needs {'; '.join(lacking)}"
        if os.environ.get("AIAYN_REQUIRE_RAY") == "1":
            pytest.fail(reason)
        pytest.skip(reason)
    with RayCluster() as started:
        yield started
