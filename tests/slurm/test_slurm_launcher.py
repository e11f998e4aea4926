"""`hydra/launcher=slurm` on a real cluster: each row is a job, and stopped, moved or killed jobs lose nothing."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from cluster import Cluster
from tiny import TINY

from aiayn.runs.directory import HOLDER, RunDirectory
from aiayn.runs.record import Status, read_record

pytestmark = pytest.mark.slurm

SECONDS = 300
SMALL = (*TINY, "trainer.enable_progress_bar=false")
LONG = ("optimization.max_steps=150", "optimization.validation_interval=50", "optimization.checkpoint_interval=50")
ENDLESS = 1_000_000

Sweep = subprocess.Popen[str]
Start = Callable[..., Sweep]


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def start(cluster: Cluster, tmp_path: Path, cache: Path) -> Iterator[Start]:
    """Start `aiayn train` as a user who submits jobs; its processes end with the test."""
    started: list[Sweep] = []
    environment = {**cluster.environment, "AIAYN_CACHE": str(cache), "OMP_NUM_THREADS": "1"}

    def start(*words: str, launcher: str = "slurm", variables: Mapping[str, str] | None = None) -> Sweep:
        words = (*SMALL, f"hydra/launcher={launcher}", *words)
        if launcher == "slurm":
            words = ("hydra.launcher.poll_seconds=0.3", "hydra.launcher.cpus_per_task=1", *words)
        if not any(word.startswith("logger") for word in words):
            words = ("logger=none", *words)
        sweep = subprocess.Popen(
            [sys.executable, "-m", "aiayn", "train", *words, "-m"],
            cwd=tmp_path,
            env=environment | dict(variables or {}),
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


def ended(sweep: Sweep) -> tuple[int, str, str]:
    out, err = sweep.communicate(timeout=SECONDS)
    assert "Traceback" not in err, err
    return sweep.returncode, out, err


def until(holds: Callable[[], object], *, seconds: float = SECONDS) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.1)


def queued(cluster: Cluster, *options: str) -> list[str]:
    """The jobs that have not ended."""
    return sorted(cluster.call("squeue", "--noheader", "--array", "--format=%i", *options).split())


def only_run(runs: Path) -> RunDirectory:
    (record,) = runs.glob("*/*/*/run.json")
    return RunDirectory(record.parent)


def steps_in(runs: Path) -> int:
    return max((len(path.read_text().splitlines()) for path in runs.glob("*/*/*/metrics.jsonl")), default=0)


def curve(run: RunDirectory) -> list[dict[str, Any]]:
    """The logged metrics without times."""
    rows = [json.loads(line) for line in run.metrics.read_text().splitlines()]
    return [{key: value for key, value in row.items() if "second" not in key} for row in rows]


def test_rows_are_jobs_and_an_unresponsive_controller_is_waited_for(
    start: Start, cluster: Cluster, tmp_path: Path
) -> None:
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "squeue"
    program.write_text(
        f'#!/bin/sh\n[ -e {tmp_path}/deaf ] && exit 1\nPATH="{cluster.environment["PATH"]}" exec squeue "$@"\n'
    )
    program.chmod(0o755)
    deaf = {"PATH": f"{tmp_path / 'bin'}:{cluster.environment['PATH']}"}
    (tmp_path / "deaf").touch()
    sweep = start("seed=1,2,3", variables=deaf)
    assert sweep.stderr is not None
    for line in sweep.stderr:
        if line.startswith("Slurm does not answer"):
            break
    until(lambda: len(list(tmp_path.glob("runs/*/*/*/run.json"))) == 3)
    (tmp_path / "deaf").unlink()
    code, out, err = ended(sweep)
    assert code == 0, err
    assert "does not answer" not in err, "said once"
    assert out.endswith("\n3 finished\n")
    records = [read_record(path) for path in tmp_path.glob("runs/*/*/*/run.json")]
    assert {record.status for record in records} == {Status.finished}
    assert sorted(record.seed for record in records) == [1, 2, 3]
    assert {path.name for path in (tmp_path / "runs").iterdir() if path.name.startswith(".")} == {".slurm"}

    known = set(queued(cluster, "--states=all"))
    code, out, err = ended(start("seed=3,1"))
    assert (code, err.count("already finished")) == (0, 2)
    assert out.endswith("\n2 finished\n")
    assert set(queued(cluster, "--states=all")) == known, "finished runs submit no job"


def test_trials_of_a_search_are_jobs(start: Start, tmp_path: Path) -> None:
    code, out, err = ended(start("sweeps=search", "hydra.sweeper.trials=2", "model.dropout=interval(0.0, 0.4)"))
    assert code == 0, err
    assert "\nbest: PPL" in out
    assert len(list(tmp_path.glob("runs/table3/base/*/run.json"))) == 2


def test_jobs_differ_in_shape_and_share_a_run(start: Start, cluster: Cluster, tmp_path: Path) -> None:
    sweep = start("trainer.devices=1,2")
    until(lambda: len(queued(cluster)) == 2)
    tasks = {cluster.job(job)["NumTasks"] for job in queued(cluster)}
    code, out, err = ended(sweep)
    assert code == 0, err
    assert tasks == {"1", "2"}
    assert out.endswith("\n2 finished\n")
    assert read_record(only_run(tmp_path / "runs").record).steps == 12


def test_two_ranks_agree_on_one_node_on_two_and_after_a_warning(start: Start, cluster: Cluster, tmp_path: Path) -> None:
    two_nodes = start(*LONG, "trainer.num_nodes=2", "paths.runs=apart")
    until(lambda: steps_in(tmp_path / "apart") > 20)
    (job,) = queued(cluster)
    assert cluster.job(job)["NumNodes"] == "2"
    cluster.call("scancel", "--signal=USR1", job)
    one_node = start(*LONG, "trainer.devices=2", "paths.runs=together")
    for sweep in (two_nodes, one_node):
        code, _, err = ended(sweep)
        assert code == 0, err
    assert cluster.job(job)["Restarts"] == "1"
    together, apart = only_run(tmp_path / "together"), only_run(tmp_path / "apart")
    assert curve(apart) == curve(together)
    assert read_record(apart.record).scores["test"].ppl == pytest.approx(
        read_record(together.record).scores["test"].ppl
    )


def test_a_preempted_job_resumes(start: Start, cluster: Cluster, tmp_path: Path) -> None:
    sweep = start(*LONG, "logger=wandb", "logger.mode=offline")
    until(lambda: steps_in(tmp_path / "runs") > 20)
    (job,) = queued(cluster)
    first = read_record(only_run(tmp_path / "runs").record)
    cluster.submit("sleep 1", "--partition=urgent", "--nodes=2", "--ntasks-per-node=2")
    undisturbed = start(*LONG, "paths.runs=undisturbed", launcher="basic")
    for each in (undisturbed, sweep):
        code, out, err = ended(each)
        assert code == 0, err
    assert out.endswith("\n1 finished\n")
    assert cluster.job(job)["Restarts"] == "1"
    run = only_run(tmp_path / "runs")
    record = read_record(run.record)
    assert (record.status, record.run_id, record.started) == (Status.finished, first.run_id, first.started)
    assert curve(run) == curve(only_run(tmp_path / "undisturbed"))
    folders = list((run.path / "wandb").glob("offline-run-*"))
    assert len(folders) == 2, "a folder for each attempt"
    assert {folder.name.rpartition("-")[2] for folder in folders} == {record.run_id}


def test_a_job_without_progress_is_not_requeued(start: Start, cluster: Cluster, tmp_path: Path) -> None:
    sweep = start()
    until(lambda: list(tmp_path.glob(f"runs/*/*/*/{HOLDER}")))
    (job,) = queued(cluster)
    cluster.call("scancel", "--signal=USR1", job)
    code, _, err = ended(sweep)
    assert code == 1
    assert f"aiayn: Slurm job {job}: stopped by SIGUSR1; Slurm job {job} saved no new checkpoint in its time" in err
    assert cluster.job(job)["Restarts"] == "0"


def test_killed_jobs_are_failed_and_the_others_finish(start: Start, cluster: Cluster, tmp_path: Path) -> None:
    sweep = start("trainer.devices=2", f"optimization.max_steps={ENDLESS},{ENDLESS + 1},12,{ENDLESS + 2}")
    until(lambda: len(queued(cluster)) == 4)
    array = queued(cluster)[0].partition("_")[0]
    cluster.call("scancel", f"{array}_3")
    until(lambda: len([path for path in tmp_path.glob("runs/*/*/*/metrics.jsonl") if path.stat().st_size]) == 2)
    cluster.call("scancel", f"{array}_0")
    os.kill(task_of(tmp_path, job=1, rank=1), signal.SIGKILL)
    code, out, err = ended(sweep)
    assert code == 1
    assert f"aiayn: Slurm job {array}_0: stopped by SIGTERM after step" in err
    assert f"aiayn: Slurm job {array}_1: rank 1 on n" in err
    assert f"aiayn: Slurm job {array}_3: cancelled before it began" in err
    assert err.splitlines()[-1].startswith("aiayn: 3 of 4 jobs failed; ")
    assert out.endswith("\n1 finished, 1 failed, 1 interrupted, 1 not begun\n")


def test_a_job_that_is_killed_with_all_its_processes_is_failed(start: Start, cluster: Cluster, tmp_path: Path) -> None:
    sweep = start(f"optimization.max_steps={ENDLESS}")
    until(lambda: steps_in(tmp_path / "runs") > 3)
    (job,) = queued(cluster)
    os.kill(task_of(tmp_path, job=None, rank=0), signal.SIGKILL)
    code, out, err = ended(sweep)
    assert code == 1
    assert f"aiayn: Slurm job {job}: FAILED, rank 0 on n" in err
    assert out.endswith("\n1 failed\n")
    record = read_record(only_run(tmp_path / "runs").record)
    assert record.status is Status.failed
    assert record.message is not None
    assert record.message.startswith(f"Slurm job {job}: FAILED, rank 0 on n")


def test_ranks_started_by_srun_resume_after_a_preemption(cluster: Cluster, tmp_path: Path, cache: Path) -> None:
    words = (*SMALL, *LONG, "trainer.devices=2", "logger=none", f"paths.runs={tmp_path}", f"paths.cache={cache}")
    script = f"OMP_NUM_THREADS=1 srun {sys.executable} -m aiayn train {' '.join(words)}"
    job = cluster.submit(script, "--nodes=1", "--ntasks-per-node=2")
    until(lambda: steps_in(tmp_path) > 20)
    cluster.submit("sleep 1", "--partition=urgent", "--nodes=2", "--ntasks-per-node=2")
    until(lambda: cluster.job(job)["JobState"] in ("COMPLETED", "FAILED"))
    assert "stopped by SIGTERM after step" in cluster.output(job)
    assert f"Slurm job {job} is back in the queue" in cluster.output(job)
    assert read_record(only_run(tmp_path).record).status is Status.finished
    assert [row["step"] for row in curve(only_run(tmp_path)) if "train/loss" in row] == list(range(1, 151))


def test_a_job_that_an_administrator_requeues_has_not_failed(start: Start, cluster: Cluster, tmp_path: Path) -> None:
    sweep = start(*LONG)
    until(lambda: steps_in(tmp_path / "runs") > 3)
    (job,) = queued(cluster)
    cluster.call("scontrol", "requeue", job)
    code, out, err = ended(sweep)
    assert code == 0, err
    assert cluster.job(job)["Restarts"] == "1"
    assert out.endswith("\n1 finished\n")


def test_jobs_outlive_the_command(start: Start, cluster: Cluster, tmp_path: Path) -> None:
    sweep = start()
    until(lambda: queued(cluster, "--states=RUNNING"))
    (job,) = queued(cluster)
    os.killpg(sweep.pid, signal.SIGINT)
    code, _, err = ended(sweep)
    assert (code, err.splitlines()[-1]) == (1, "aiayn: interrupted")
    assert f"`scancel {job}` ends them" in err
    until(lambda: not queued(cluster))
    assert read_record(only_run(tmp_path / "runs").record).status is Status.finished
    assert not list(tmp_path.glob("runs/.jobs-*"))


def test_a_refusal_of_slurm_is_one_line(start: Start, cluster: Cluster, tmp_path: Path) -> None:
    code, out, err = ended(start("seed=1,2", "hydra.launcher.partition=nowhere"))
    assert (code, out) == (2, "")
    (line,) = err.splitlines()
    assert line.startswith("aiayn: hydra/launcher=slurm: sbatch: error: ")
    assert "partition" in line
    code, out, err = ended(start("model.num_heads=3", "trainer.devices=1,auto"))
    assert code == 1
    assert err.count("aiayn: model.num_heads=3 does not divide model.d_model=16") == 2
    assert out.endswith("\n2 refused\n")
    assert queued(cluster) == []


def task_of(folder: Path, *, job: int | None, rank: int) -> int:
    """The process of a rank, found by Slurm's environment variables."""
    wanted = {f"SLURM_PROCID={rank}", f"PWD={folder}"} | ({f"SLURM_ARRAY_TASK_ID={job}"} if job is not None else set())
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_bytes().split(b"\0")
            if (process / "cwd").readlink() != folder or b"submitit.core._submit" not in command or b"srun" in command:
                continue
            if wanted <= set((process / "environ").read_text().split("\0")):
                return int(process.name)
        except OSError:
            continue
    raise AssertionError(f"no process of {wanted}")
