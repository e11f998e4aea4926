"""The Ray cluster of a sweep: the connection to it, its nodes, and the folders that they need."""

import logging
import os
import signal
import socket
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout

import ray
from ray.exceptions import GetTimeoutError, NodeDiedError, RayError, TaskUnschedulableError, WorkerCrashedError
from ray.util.placement_group import PlacementGroup
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from aiayn.errors import UserError
from aiayn.extensions.cluster.ray_agent import missing_folders
from aiayn.system.signals import INTERRUPTING

logger = logging.getLogger("aiayn")

CONNECT_SECONDS = 10.0
"""Longest wait for the cluster to accept a connection."""

PROBE_SECONDS = 120.0
"""Longest wait for the nodes' answers: their first processes of Ray have to start."""

REMEDY = "ray start --head starts one; hydra.launcher.address or RAY_ADDRESS names another"

SHARED = "paths.runs, paths.cache and the working directory must be on a disk that all nodes share"


def addresses_of(group: PlacementGroup) -> list[str]:
    """The addresses of a placed group's nodes, in the order of its bundles."""
    nodes = {node["NodeID"]: str(node["NodeManagerAddress"]) for node in ray.nodes()}
    places: Mapping[int, str] = ray.util.placement_group_table(group)["bundles_to_node_id"]
    return [nodes[places[place]] for place in sorted(places)]


@contextmanager
def connected(address: str | None) -> Iterator[None]:
    """Connect to a cluster, unless this process is connected to one.

    Args:
        address: of the cluster; None: that of `RAY_ADDRESS`, or of the cluster on this host.

    Raises:
        UserError: there is none.
    """
    if ray.is_initialized():
        yield
        return
    handlers = {number: signal.getsignal(number) for number in INTERRUPTING}
    stated = address or os.environ.get("RAY_ADDRESS") or "auto"
    if stated == "local":
        raise UserError(f"hydra.launcher.address=local: would start a cluster for this command alone: {REMEDY}")
    try:
        host, _, port = stated.rpartition(":")
        if host and port.isdigit() and "/" not in host:  # Ray would try for minutes
            socket.create_connection((host, int(port)), timeout=CONNECT_SECONDS).close()
        ray.init(address=stated, log_to_driver=False, logging_level=logging.CRITICAL)
    except (ConnectionError, RuntimeError, ValueError, OSError) as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0].partition(" To fix this")[0]
        raise UserError(f"hydra/launcher=ray: no cluster at {stated} ({reason}): {REMEDY}") from None
    finally:
        for number, handler in handlers.items():  # Ray has its own for SIGTERM
            signal.signal(number, handler)
    with redirect_stdout(sys.stderr):  # Ray prints changes of nodes there
        try:
            yield
        finally:
            ray.shutdown()


def check_folders(folders: Sequence[str]) -> None:
    """Refuse a cluster of which a node lacks a folder, or this package; UserError.

    Nodes that do not answer are left out: they may have just been lost, and a job asks its own nodes again.
    """
    probe, asked = ray.remote(missing_folders), []
    for node in ray.nodes():
        if node["Alive"]:
            place = NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
            answer = probe.options(num_cpus=0, max_retries=0, scheduling_strategy=place).remote(folders)
            asked.append((node["NodeManagerAddress"], answer))
    ends = time.monotonic() + PROBE_SECONDS
    for address, answer in asked:
        try:
            missing = ray.get(answer, timeout=max(0.0, ends - time.monotonic()))
        except (GetTimeoutError, NodeDiedError, TaskUnschedulableError, WorkerCrashedError):
            logger.warning("Ray: node %s does not answer", address)
            continue
        except RayError as error:
            reason = str(error).strip().splitlines()[-1]
            raise UserError(f"hydra/launcher=ray: node {address} cannot run jobs: {reason}") from None
        if missing:
            raise UserError(f"hydra/launcher=ray: node {address} has no folder {missing[0]}: {SHARED}")


def nodes_with(bundle: Mapping[str, int]) -> int:
    """The number of nodes that have these resources, in use or not."""
    return sum(
        node["Alive"] and all(node["Resources"].get(name, 0) >= count for name, count in bundle.items())
        for node in ray.nodes()
    )
