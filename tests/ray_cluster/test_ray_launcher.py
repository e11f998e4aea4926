"""`hydra/launcher=ray` on a real cluster of two nodes: lost processes, nodes and commands lose no step."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from commands import until
from nodes import MORE_CORES, RayCluster, command_of, descendants, hiding, job_processes
from tiny import TINY

from aiayn.launch.shares import THREAD_VARIABLES
from aiayn.runs.directory import RunDirectory
from aiayn.runs.record import Status, read_record

pytestmark = pytest.mark.ray

SECONDS = 300
SMALL = (*TINY, "trainer.enable_progress_bar=false", "logger=none")
LONG = ("optimization.max_steps=150", "optimization.validation_interval=50", "optimization.checkpoint_interval=50")
ENDLESS = ("optimization.max_steps=1000000",)

Sweep = subprocess.Popen[str]
Start = Callable[..., Sweep]


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def start(cluster: RayCluster, tmp_path: Path, cache: Path) -> Iterator[Start]:
    """Start `aiayn train -m` as a user of the cluster does; its processes end with the test."""
    started: list[Sweep] = []
    environment = {**cluster.environment, "AIAYN_CACHE": str(cache), **dict.fromkeys(THREAD_VARIABLES, "1")}

    def start(
        *words: str, launcher: str = "ray", are_rows: bool = False, before: Sequence[str] = (), **variables: str
    ) -> Sweep:
        """`are_rows`: the number of heads is that of each row; `before` begins the command line."""
        own = ("hydra.launcher.cpus_per_task=1", "hydra.launcher.poll_seconds=0.1") if launcher == "ray" else ()
        small = [word for word in SMALL if not (are_rows and word.startswith("model.num_heads"))]
        words = (*small, f"hydra/launcher={launcher}", *own, *words)
        sweep = subprocess.Popen(
            cluster.words(*before, sys.executable, "-m", "aiayn", "train", *words, "-m"),
            cwd=tmp_path,
            env={**environment, **variables},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        started.append(sweep)
        return sweep

    yield start
    for sweep in started:
        sweep.kill()
        sweep.communicate()
    until(lambda: not job_processes(["aiayn"], tmp_path), seconds=90)


def ended(sweep: Sweep) -> tuple[int, str, str]:
    out, err = sweep.communicate(timeout=SECONDS)
    assert "Traceback" not in err, err
    return sweep.returncode, out, err


def only_run(runs: Path) -> RunDirectory:
    (record,) = runs.glob("*/*/*/run.json")
    return RunDirectory(record.parent)


def steps_in(runs: Path) -> int:
    return max((len(path.read_text().splitlines()) for path in runs.glob("*/*/*/metrics.jsonl")), default=0)


def curve(run: RunDirectory) -> list[dict[str, Any]]:
    """The logged metrics without times."""
    rows = [json.loads(line) for line in run.metrics.read_text().splitlines()]
    return [{key: value for key, value in row.items() if "second" not in key} for row in rows]


def output_of(runs: Path) -> str:
    return "".join(path.read_text() for path in sorted(runs.glob(".ray/*/*.log")))


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory: pytest.TempPathFactory, cache: Path) -> RunDirectory:
    """The long run on one machine, by one process."""
    folder = tmp_path_factory.mktemp("undisturbed")
    subprocess.run(
        [sys.executable, "-m", "aiayn", "train", *SMALL, *LONG],
        cwd=folder,
        env={**os.environ, "AIAYN_CACHE": str(cache), **dict.fromkeys(THREAD_VARIABLES, "1")},
        check=True,
        capture_output=True,
        timeout=SECONDS,
    )
    return only_run(folder / "runs")


def test_rows_of_a_table_are_jobs_with_the_results_of_one_machine(start: Start, tmp_path: Path) -> None:
    table = ("sweeps=table3_a", "model.d_model=64")
    code, out, err = ended(start(*table, are_rows=True))
    assert code == 0, err
    assert out.endswith("\n5 finished\n")
    assert ended(start(*table, "paths.runs=here", launcher="basic", are_rows=True))[0] == 0
    there = {path.name: RunDirectory(path) for path in (tmp_path / "runs/table3").glob("*/*")}
    assert len(there) == 5
    for path in (tmp_path / "here/table3").glob("*/*"):
        assert curve(there[path.name]) == curve(RunDirectory(path))
    assert not list(tmp_path.glob("runs/.jobs-*"))
    again = ended(start(*table, are_rows=True))
    assert (again[0], again[2].count("already finished")) == (0, 5)
    assert len(list(tmp_path.glob("runs/.ray/*"))) == 1, "finished runs are no jobs"


def test_trials_of_a_search_are_jobs(start: Start, tmp_path: Path) -> None:
    code, out, err = ended(start("sweeps=search", "hydra.sweeper.trials=2", "model.dropout=interval(0.0, 0.4)"))
    assert code == 0, err + output_of(tmp_path / "runs")
    assert "\nbest: PPL" in out
    assert len(list(tmp_path.glob("runs/table3/base/*/run.json"))) == 2


def test_a_finished_run_that_is_held_is_shown_later_and_stops_no_other(start: Start, tmp_path: Path) -> None:
    assert ended(start())[0] == 0
    with only_run(tmp_path / "runs").locked():
        sweep = start("seed=1,2")
        until(lambda: steps_in_seed(tmp_path / "runs", 2) == 12)
    code, out, err = ended(sweep)
    assert code == 0, err
    assert out.endswith("\n2 finished\n")


def steps_in_seed(runs: Path, seed: int) -> int:
    found = [path for path in runs.glob("*/*/*/metrics.jsonl") if f"-seed{seed}-" in str(path)]
    return max((row["step"] for path in found for row in map(json.loads, path.read_text().splitlines())), default=0)


def test_ranks_on_two_nodes_agree_with_those_on_one(start: Start, tmp_path: Path) -> None:
    apart = ended(start("trainer.num_nodes=2", "paths.runs=apart"))
    assert apart[0] == 0, apart[2] + output_of(tmp_path / "apart")
    together = ended(start("trainer.devices=2", "paths.runs=together"))
    assert together[0] == 0, together[2]
    assert curve(only_run(tmp_path / "apart")) == curve(only_run(tmp_path / "together"))


@pytest.mark.parametrize("lost", ["node", "Ray's worker", "training"])
def test_a_job_goes_on_where_it_was(
    start: Start, cluster: RayCluster, tmp_path: Path, undisturbed: RunDirectory, lost: str
) -> None:
    sweep = start(*LONG, f"hydra.launcher.cpus_per_task={MORE_CORES}")
    until(lambda: steps_in(tmp_path / "runs") > 60)
    run = only_run(tmp_path / "runs")
    worker = job_processes(["aiayn.launch.worker", str(run.path)], tmp_path)[0]
    if lost == "node":
        cluster.lose(cluster.nodes[-1])
        cluster.start_node()
    elif lost == "training":
        os.kill(worker, signal.SIGKILL)
    else:
        (agent,) = [each for each in ray_workers(cluster) if worker in descendants(each)]
        os.kill(agent, signal.SIGKILL)
    code, out, err = ended(sweep)
    assert code == 0, err + output_of(tmp_path / "runs")
    assert out.endswith("\n1 finished\n")
    assert "(raylet)" not in out, "what Ray prints does not belong to the table"
    assert "attempt 2 of 3 follows" in err
    assert curve(run) == curve(undisturbed)


def ray_workers(cluster: RayCluster) -> list[int]:
    """The processes of Ray in which jobs may run."""
    return [each for node in cluster.nodes for each in descendants(node.pid) if command_of(each).startswith("ray::")]


def test_ctrl_c_leaves_a_checkpoint_and_no_process(start: Start, tmp_path: Path) -> None:
    sweep = start(*ENDLESS, "seed=1,2,3,4,5,6")
    until(lambda: steps_in(tmp_path / "runs") > 3)
    os.killpg(sweep.pid, signal.SIGINT)
    code, _, err = ended(sweep)
    assert (code, err.splitlines()[-1]) == (1, "aiayn: interrupted")
    until(lambda: not job_processes(["aiayn"], tmp_path), seconds=30)
    stopped = [read_record(path) for path in tmp_path.glob("runs/*/*/*/run.json")]
    assert {record.status for record in stopped} == {Status.interrupted}
    assert any("stopped by Ctrl-C" in str(record.message) for record in stopped)
    assert any((path.parent / "checkpoints").iterdir() for path in tmp_path.glob("runs/*/*/*/run.json"))


def test_a_third_ctrl_c_ends_at_once_and_nothing_is_left(start: Start, tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text(SLOW)
    path = {"PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
    sweep = start(*ENDLESS, "model.attention=slow:Slow", **path)
    until(lambda: steps_in(tmp_path / "runs") > 3)
    (tmp_path / "sleeps").touch()
    time.sleep(1)
    for _ in range(3):
        os.killpg(sweep.pid, signal.SIGINT)
        time.sleep(0.3)  # signals that wait together are one
    assert sweep.wait(timeout=20) != 0
    until(lambda: not job_processes(["aiayn"], tmp_path), seconds=90)


SLOW = """
import time
from pathlib import Path

import torch
from aiayn.models.attention import AttentionFunction

class Slow(AttentionFunction):
    def __init__(self, *, num_heads: int, d_k: int) -> None:
        super().__init__()

    def scores(self, query, keys):
        if Path("sleeps").exists():
            time.sleep(600)  # a step that is longer than the wait for a checkpoint
        return torch.matmul(query, keys.transpose(-1, -2))
"""


def test_jobs_of_a_killed_command_end_and_are_resumed(start: Start, tmp_path: Path, undisturbed: RunDirectory) -> None:
    sweep = start(*LONG)
    until(lambda: steps_in(tmp_path / "runs") > 60)
    sweep.kill()
    sweep.communicate()
    until(lambda: not job_processes(["aiayn"], tmp_path), seconds=90)
    code, _, err = ended(start(*LONG))
    assert code == 0, err
    assert curve(only_run(tmp_path / "runs")) == curve(undisturbed)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give nodes on one machine folders of their own for jobs")
def test_a_command_may_be_a_job_of_the_cluster(cluster: RayCluster, tmp_path: Path, cache: Path) -> None:
    (tmp_path / "sent").mkdir()
    words = [*SMALL, "hydra/launcher=ray", "hydra.launcher.cpus_per_task=1", f"paths.runs={tmp_path}/runs", "seed=1,2"]
    job = [sys.executable, "-m", "aiayn", "train", "-m", *words, f"paths.cache={cache}"]
    submit = [sys.executable, "-m", "ray.scripts.scripts", "job", "submit", "--address", cluster.jobs_address]
    submitted = subprocess.run(
        cluster.words(*submit, "--working-dir", str(tmp_path / "sent"), "--", *job),
        env=cluster.environment,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert submitted.returncode == 0, submitted.stdout + submitted.stderr + output_of(tmp_path / "runs")
    assert "\n2 finished\n" in submitted.stdout
    records = [read_record(path) for path in tmp_path.glob("runs/*/*/*/run.json")]
    assert [record.status for record in records] == [Status.finished] * 2


def refusal(sweep: Sweep) -> str:
    """The only line of a command that was refused."""
    code, out, err = ended(sweep)
    lines = [line for line in err.splitlines() if "network_util.cc" not in line]  # Ray's, where no route leads out
    assert (code, out, len(lines)) == (2, "", 1), err
    return lines[0].removeprefix("aiayn: ")


def test_mistakes_are_one_line(start: Start) -> None:
    stated = "hydra/launcher=ray: no cluster at 127.0.0.1:9 ("
    assert refusal(start("seed=1,2", "hydra.launcher.address=127.0.0.1:9")).startswith(stated)
    assert refusal(start("hydra.launcher.address=local")).startswith("hydra.launcher.address=local: would start a")
    assert refusal(start("hydra.launcher.cpus_per_task=0")).startswith("hydra.launcher.cpus_per_task=0: ")
    assert refusal(start("hydra.launcher.poll_seconds=-1")).startswith("hydra.launcher.poll_seconds=-1")
    group = {"TORCHELASTIC_RUN_ID": "none", "RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "1"}
    assert refusal(start("seed=1,2", **group)).startswith("torchrun or srun started this multirun")
    code, out, _ = ended(start("model.num_heads=3", "trainer.devices=1,auto"))
    assert (code, out.endswith("\n2 refused\n")) == (1, True)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may hide a folder")
def test_a_node_without_the_shared_folder_gets_no_job(start: Start, cluster: RayCluster, tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    assert re.fullmatch(
        rf"hydra/launcher=ray: node 127.0.0.1 has no folder {tmp_path}/runs/\S+: paths.runs, .*",
        refusal(start("seed=1,2", before=hiding(tmp_path / "runs"))),
    )
    more = MORE_CORES + 1
    sweep = start(f"hydra.launcher.cpus_per_task={more}")
    assert sweep.stderr is not None
    said = next(line for line in sweep.stderr if "Ray: a job needs" in line)
    assert f"a node with {more} CPU, and 0 of the cluster's nodes suffice" in said
    late = cluster.start_node(more, without=tmp_path / "runs")
    try:
        code, out, err = ended(sweep)
    finally:
        cluster.lose(late)
    assert code == 1, out
    assert f"Ray: node 127.0.0.1 has no folder {tmp_path}/runs/" in err
    assert not list(tmp_path.glob("runs/*/*/*/metrics.jsonl")), "nothing was trained"


def test_a_node_that_has_just_been_lost_refuses_no_sweep(start: Start, cluster: RayCluster, tmp_path: Path) -> None:
    cluster.lose(cluster.nodes[-1])  # Ray lists it for some seconds more
    try:
        code, out, err = ended(start())
    finally:
        cluster.start_node()
    assert code == 0, err + output_of(tmp_path / "runs")
    assert out.endswith("\n1 finished\n")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may hide a folder")
def test_a_node_that_lacks_a_new_cache_is_named(start: Start, tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    new = tmp_path / "disk/cache"
    said = refusal(start(f"paths.cache={new}", before=hiding(tmp_path / "disk")))
    assert said.startswith(f"hydra/launcher=ray: node 127.0.0.1 has no folder {new}: ")


def test_a_row_that_fails_by_itself_is_not_tried_again(start: Start, tmp_path: Path) -> None:
    (tmp_path / "failing.py").write_text(FAILING)
    words = ("trainer.num_nodes=2", "model.attention=failing:Failing")
    code, out, err = ended(start(*words, PYTHONPATH=os.pathsep.join([str(tmp_path), *sys.path])))
    assert code == 1, out
    assert "rank 1: model.attention=failing:Failing: raised ValueError: on this rank alone" in err
    assert "follows" not in err, "no further attempt"


FAILING = """
import os, time
import torch
from aiayn.models.attention import AttentionFunction

class Failing(AttentionFunction):
    def __init__(self, *, num_heads: int, d_k: int) -> None:
        super().__init__()

    def scores(self, query, keys):
        if self.training and os.environ.get("RANK") == "1":
            raise ValueError("on this rank alone")
        if self.training:
            time.sleep(60)  # as a rank that waits for a GPU
        return torch.matmul(query, keys.transpose(-1, -2))
"""
