"""The real `wandb sweep` and `wandb agent` with a recording server: one run per job, finished jobs included."""

import os
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

import pytest
import yaml
from commands import Train, signal_at
from tiny import TINY
from wandb_server import RecordingServer

from aiayn.config.store import sweeps_directory
from aiayn.runs.directory import RunDirectory
from aiayn.runs.record import Status, read_record

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("logged_in")]


QUICKENED = "from wandb.wandb_agent import Agent; Agent.POLL_INTERVAL = 0.1; from wandb.cli.cli import cli; cli()"
"""W&B's program, with an agent that polls every 0.1 instead of every 5 seconds."""


def wandb_program(*words: str) -> subprocess.CompletedProcess[str]:
    """Run it and wait until all its processes have closed their output."""
    return subprocess.run(
        [sys.executable, "-c", QUICKENED, *words],
        env={**os.environ, "PATH": f"{sysconfig.get_path('scripts')}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


def write_sweep(folder: Path, parameters: dict[str, Any]) -> Path:
    """The sweep of Table 3 with other parameters, of tiny runs."""
    content = yaml.safe_load((sweeps_directory() / "wandb" / "table3.yaml").read_text())
    *words, arguments = content["command"]
    content |= {"command": [*words, *TINY, arguments], "parameters": parameters}
    path = folder / "sweep.yaml"
    path.write_text(yaml.safe_dump(content))
    return path


def directories(folder: Path) -> dict[str, RunDirectory]:
    """By experiment."""
    found = [RunDirectory(path.parent) for path in folder.glob("runs/*/*/*/run.json")]
    return {read_record(directory.record).experiment: directory for directory in found}


@pytest.mark.long
def test_an_agent_gets_a_run_for_each_job_finished_ones_included(
    train: Train, server: RecordingServer, tmp_path: Path
) -> None:
    assert train("scale=nano", "experiment=table3/a_h4") == 0
    finished = directories(tmp_path)["table3/a_h4"].record.read_bytes()

    rows = ["table3/base", "table3/a_h4", "table3/nonsense"]
    made = wandb_program("sweep", str(write_sweep(tmp_path, {"experiment": {"values": rows}})))
    assert made.returncode == 0, made.stderr
    sweep = server.sweeps.only()
    assert (sweep.config["name"], sweep.config["metric"]["name"]) == ("table3", "val/ppl")
    agent = wandb_program("agent", f"aiayn/{sweep.sweep_id}")
    assert agent.returncode == 0, agent.stderr

    assert len(sweep.runs) == len(rows)
    assert list(server.runs) == sweep.runs[:2], "a refused job has no run"
    (line,) = (line for line in agent.stderr.splitlines() if line.startswith("aiayn: "))
    assert "experiment=table3/nonsense" in line
    assert "Traceback" not in agent.stderr
    after = directories(tmp_path)
    assert set(after) == set(rows[:2])
    for row, run_id in zip(rows, sweep.runs[:2], strict=False):
        run, record = server.runs[run_id], read_record(after[row].record)
        assert record.status is Status.finished
        assert run.described("sweep") == sweep.sweep_id
        assert run.described("jobType").split()[0] == row.partition("/")[2]
        assert run.config()["identity"]["experiment"] == row
        assert run.steps() == list(range(1, 13)), row
        perplexities = [line["val/ppl"] for line in run.history if "val/ppl" in line]
        assert perplexities == list(after[row].validation_perplexities().values())
        assert run.summary["dev/ppl"] == pytest.approx(record.scores["dev"].ppl)
        assert run.exit_codes == [0]
    assert after["table3/a_h4"].record.read_bytes() == finished, "reporting a finished run does not change it"


@pytest.mark.long
def test_an_interrupted_run_is_sent_to_the_agent_from_its_first_step(
    train: Train, server: RecordingServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert train(signal_at(7)) == 1
    for name, value in {"SWEEP_ID": "sweep1", "RUN_ID": "agent0run", "PROJECT": "theirs", "ENTITY": "team"}.items():
        monkeypatch.setenv(f"WANDB_{name}", value)
    assert train(tracker="wandb") == 0
    run_id, run = server.only_run()
    (directory,) = directories(tmp_path).values()
    assert run_id == read_record(directory.record).run_id == "agent0run"
    assert (run.described("project"), run.described("entity"), run.described("sweep")) == ("theirs", "team", "sweep1")
    assert run.steps() == list(range(1, 13))
    assert run.summary["val/ppl_min"] == min(directory.validation_perplexities().values())
    assert train(tracker="wandb") == 0, "it was already reported"
    assert len(run.exit_codes) == 1
