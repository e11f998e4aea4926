"""The real W&B client with a recording server: the data sent, and the handling of failures."""

import json
import re
import shlex
import shutil
import socket
import subprocess
import sys
import time
from http import HTTPStatus
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from commands import CommandLine, Find, Train, signal_at
from observers import wandb_processes
from tiny import TINY
from wandb_files import kept_records
from wandb_server import ENTITY, KEY, VANISH, RecordingServer

import aiayn
from aiayn.commands.front_end import main
from aiayn.runs.directory import RunDirectory
from aiayn.runs.record import Status, read_record

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("logged_out")]


PASSWORD = "open-sesame-17"
ONE_STEP = ("optimization.max_steps=1", "decoding.limit_sentences=1")
QUICK = ("logger.init_timeout=2", "logger.finish_timeout=2")


def warnings(text: str) -> list[str]:
    return [line for line in text.splitlines() if "W&B" in line]


def run_advised_command(line: str) -> None:
    """Run the command at the end of a log line."""
    program, *arguments = shlex.split(line.rpartition("later: ")[2])
    command = [str(Path(sys.executable).with_name(program)), *arguments]
    subprocess.run(command, check=True, capture_output=True, timeout=60)


@pytest.mark.long
def test_an_online_run_sends_the_data_of_a_dashboard(
    train: Train, only_run: Find, server: RecordingServer, logged_in: None, capfd: pytest.CaptureFixture[str]
) -> None:
    assert train("experiment=table3/a_h4", "model.num_heads=4", tracker="wandb") == 0
    record = read_record(only_run() / "run.json")
    run_id, run = server.only_run()
    assert run_id == record.run_id
    assert run.described("groupName") == "table3"
    assert run.described("displayName") == f"{run.described('jobType')} seed 1"
    assert run.described("jobType").startswith("a_h4 ")
    assert set(run.described("tags")) == {"paper", "table3", "a_h4", "demo", "grammar", "variation"}
    assert run.described("program") == "aiayn"
    assert json.loads(server.uploads["wandb-metadata.json"])["program"] == "aiayn"
    assert run.described("project") == "aiayn"
    assert run.described("notes").startswith("h=4, d_k=d_v=4 (paper: h=4, d_k=d_v=128); here ")
    assert run.config()["model"]["num_heads"] == 4
    assert run.config()["code"] == {"commit": record.commit, "dirty": record.dirty}
    assert run.every_curve_is_by("trainer/global_step")
    for key in ("train/loss", "train/ppl", "train/tokens_per_second", "train/lr"):
        assert run.steps(key) == list(range(1, 13))
    for key in ("val/ppl", "val/bleu"):
        assert run.steps(key) == [6, 12]
    assert run.summary["dev/bleu"] == pytest.approx(record.scores["dev"].quality.score)
    assert run.summary["parameters"] == record.parameters
    perplexities = [row["val/ppl"] for row in run.history if "val/ppl" in row]
    assert (run.summary["val/ppl"], run.summary["val/ppl_min"]) == (perplexities[-1], min(perplexities))
    assert any(line.endswith("on 12 sentences") and " INFO:aiayn:dev: " in line for line in run.console)
    assert any(" INFO:aiayn:train: step 12/12 " in line for line in run.console)
    assert not [line for line in run.console if line.startswith("ERROR")]
    assert run.exit_codes == [0]
    captured = capfd.readouterr()
    assert "W&B" not in captured.out
    assert "wandb" not in captured.out.replace(str(only_run()), "")
    (line,) = warnings(captured.err)
    assert f"{server.url}/{ENTITY}/aiayn/runs/{run_id}" in line
    assert not wandb_processes()
    assert main(["sync"]) == 0
    assert "nothing to send" in capfd.readouterr().out


def test_a_run_shows_translations_and_uploads_its_best_checkpoint(
    train: Train, only_run: Find, server: RecordingServer, logged_in: None
) -> None:
    often = "+logger.settings={x_stats_sampling_interval: 0.1}"  # the default is 15 seconds
    assert train("logger.log_model=true", "logger.samples=5", often, tracker="wandb") == 0
    run_id, run = server.only_run()
    directory = RunDirectory(only_run())
    (table,) = (json.loads(body) for name, body in server.uploads.items() if name.startswith("media/table/samples"))
    assert table["columns"] == ["source", "reference", "hypothesis", "sentence_bleu"]
    assert 3 <= len(table["data"]) <= 5
    scores = [row[-1] for row in table["data"]]
    assert scores == sorted(scores)
    hypotheses = next(directory.evaluations.glob("*/test.hypotheses.txt")).read_text().splitlines()
    assert {row[2] for row in table["data"]} <= set(hypotheses)
    assert run.summary["samples"]["nrows"] == len(table["data"])
    (model,) = (artifact for artifact in run.artifacts if artifact["artifactTypeName"] == "model")
    step, best = directory.checkpoint("best")
    name = re.sub(r"[^\w.-]+", "-", f"{run.described('displayName')} {run_id}")
    assert model["artifactCollectionName"] == name
    assert {"best", f"step-{step}"} <= {entry["alias"] for entry in model["aliases"]}
    assert json.loads(model["metadata"]) == {"step": step, "val/ppl": directory.validation_perplexities()[step]}
    assert server.uploads[best.name] == best.read_bytes()
    assert [name for name in server.uploads if name.endswith(".ckpt")] == [best.name]
    assert any(key.startswith("system.cpu") for event in run.events for key in event)


def test_a_refused_artifact_is_reported_once_and_the_rest_is_sent(
    train: Train,
    server: RecordingServer,
    logged_in: None,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("WANDB_NAME", "a name longer than an artifact's " * 5)
    assert train(*ONE_STEP, "logger.log_model=true", tracker="wandb") == 0
    _, line = warnings(capfd.readouterr().err)  # the first line is the URL of the run
    assert "best-0000001.ckpt is not sent" in line
    _, run = server.only_run()
    assert "samples" in run.summary
    assert run.exit_codes == [0]


@pytest.mark.long
def test_the_git_state_is_that_of_the_code_without_the_password_of_its_remote(
    tmp_path: Path, server: RecordingServer, logged_in: None, shared_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A copy of the sources in a checkout whose remote has a password; the working directory is another."""
    here, copied = Path(aiayn.__file__).parents[2], tmp_path / "checkout"
    for folder in ("src", "conf", "sweeps"):
        shutil.copytree(here / folder, copied / folder, ignore=shutil.ignore_patterns("__pycache__"))
    git = ["git", "-C", str(copied), "-c", "user.name=a", "-c", "user.email=a@b.c"]
    remote = f"https://user:{PASSWORD}@example.org/us/aiayn.git"
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "all"], ["remote", "add", "origin", remote]):
        subprocess.run([*git, *words], check=True, capture_output=True)
    commit = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()
    (copied / "conf" / "paths" / "default.yaml").write_text("runs: runs\ncache: ${oc.env:AIAYN_CACHE,cache}\n")
    monkeypatch.setenv("PYTHONPATH", str(copied / "src"))
    monkeypatch.setenv("AIAYN_CACHE", str(shared_cache))
    command = [sys.executable, "-m", "aiayn", "train", *TINY, "optimization.max_steps=1"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    _, run = server.only_run()
    assert run.described("commit") == commit
    assert urlsplit(run.described("repo")).hostname == "example.org"
    assert run.config()["code"] == {"commit": commit, "dirty": True}
    assert json.loads(server.uploads["wandb-metadata.json"])["git"]["commit"] == commit
    assert not [body for body in server.bodies if PASSWORD.encode() in body]
    kept = [path for path in tmp_path.glob("runs/**/*") if path.is_file()]
    assert kept
    assert not [path for path in kept if PASSWORD.encode() in path.read_bytes()]


@pytest.mark.long
def test_jobs_of_a_multirun_are_separate_runs_and_only_rank_0_logs(
    command_line: CommandLine, tmp_path: Path, server: RecordingServer, logged_in: None
) -> None:
    words = ("experiment=table3/base,table3/a_h1", "optimization.max_steps=2", "trainer.devices=2")
    done = command_line("-m", "logger=wandb", *words)
    assert done.returncode == 0, done.stderr
    records = {record.run_id: record for record in map(read_record, tmp_path.glob("runs/*/*/*/run.json"))}
    assert server.runs.keys() == records.keys()
    assert len(records) == 2
    for run_id, run in server.runs.items():
        record = records[run_id]
        assert f"table3/{run.described('jobType')}" == f"{record.experiment} {record.difference}"
        assert run.steps() == [1, 2]
        assert run.steps("val/bleu") == [2]
        assert run.exit_codes == [0]
    assert len({run.described("groupName") for run in server.runs.values()}) == 1


def test_no_file_of_a_run_holds_the_key(train: Train, only_run: Find, server: RecordingServer, logged_in: None) -> None:
    assert train("optimization.divergence_factor=0.5", tracker="wandb") == 1
    _, run = server.only_run()
    assert run.exit_codes == [1]
    files = [path for path in only_run().rglob("*") if path.is_file()]
    assert any(path.suffix == ".wandb" for path in files)
    assert not [path for path in files if KEY.encode() in path.read_bytes()]
    assert KEY not in run.described("config")


@pytest.mark.long
def test_a_resumed_run_is_the_same_run(train: Train, only_run: Find, server: RecordingServer, logged_in: None) -> None:
    assert train(signal_at(4), tracker="wandb") == 1
    _, run = server.only_run()
    assert run.steps()[-1] == 5
    assert train(tracker="wandb") == 0
    assert server.only_run() == (read_record(only_run() / "run.json").run_id, run)
    assert run.steps() == list(range(1, 13))
    assert run.steps("val/bleu") == [6, 12]
    assert run.exit_codes == [1, 0]
    first, last = (run.config(upsert) for upsert in (0, -1))
    del first["callbacks"]["disturber"]
    assert last == first
    assert run.described("tags") == ["paper", "table3", "base", "demo", "grammar", "variation"]
    assert run.summary["val/ppl_min"] == min(row["val/ppl"] for row in run.history if "val/ppl" in row)


@pytest.mark.long
def test_the_runs_of_a_multirun_have_names_of_their_own(
    train: Train, tmp_path: Path, server: RecordingServer, logged_in: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("-m", "model.dropout=0.1,0.3", "model.positions=learned", "optimization.max_steps=1")
    monkeypatch.setenv("WANDB_NAME", "mine")
    assert train(*words, tracker="wandb") == 0
    groups = {run.described("groupName") for run in server.runs.values()}
    assert len(groups) == 1
    assert groups.pop().startswith("model.dropout=0.1,0.3 ")
    names = [run.described("displayName") for run in server.runs.values()]
    assert names[1].startswith("mine base dropout=0.3 ")
    assert not names[0].startswith("mine base dropout")
    assert names[0].startswith("mine base ")
    assert len({run.described("jobType") for run in server.runs.values()}) == 2
    assert all("variation" in run.described("tags") for run in server.runs.values())


@pytest.mark.long
def test_a_run_that_another_command_resumes_keeps_its_name(
    train: Train, only_run: Find, server: RecordingServer, logged_in: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert train("-m", "model.dropout=choice(0.3)", signal_at(2), tracker="wandb") == 1
    _, run = server.only_run()
    name = run.described("displayName")
    assert name.startswith("base dropout=0.3 ")
    assert train("model.dropout=0.3", tracker="wandb") == 0
    assert run.exit_codes == [1, 0]
    assert run.described("displayName") == name


@pytest.mark.long
@pytest.mark.parametrize(
    ("trouble", "mode"),
    [("no server listens", "auto"), ("the key is refused", "online"), ("every request fails", "auto")],
)
def test_without_a_server_the_run_is_offline(
    trouble: str,
    mode: str,
    train: Train,
    only_run: Find,
    server: RecordingServer,
    logged_in: None,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    host = server.url.removeprefix("http://")
    if trouble == "no server listens":
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            host = f"127.0.0.1:{free.getsockname()[1]}"
        monkeypatch.setenv("WANDB_BASE_URL", f"http://{host}")
    else:
        refused = trouble == "the key is refused"
        server.refusal = HTTPStatus.UNAUTHORIZED if refused else HTTPStatus.INTERNAL_SERVER_ERROR
    began = time.monotonic()
    soon = ("logger.init_timeout=1", "logger.finish_timeout=1")
    assert train(*ONE_STEP, f"logger.mode={mode}", *soon, tracker="wandb") == 0
    assert time.monotonic() - began < 40  # the client alone would try for 90 seconds
    (line,) = warnings(capfd.readouterr().err)
    (kept,) = (path for path in (only_run() / "wandb").glob("*run-*") if not path.is_symlink())
    assert host in line
    assert line.endswith(f"aiayn sync run={only_run()}")
    assert kept.name.startswith("offline-run-")
    assert kept.name.endswith(read_record(only_run() / "run.json").run_id)


def test_without_credentials_nothing_is_sent(
    train: Train, only_run: Find, server: RecordingServer, capfd: pytest.CaptureFixture[str]
) -> None:
    assert train(*ONE_STEP, tracker="wandb") == 0
    assert not server.requests
    (line,) = warnings(capfd.readouterr().err)
    assert "not logged in" in line
    assert line.endswith(f"aiayn sync run={only_run()}")


@pytest.mark.long
def test_a_failing_server_delays_and_loses_nothing(
    train: Train, only_run: Find, server: RecordingServer, logged_in: None, capfd: pytest.CaptureFixture[str]
) -> None:
    server.fails_from = "file_stream"
    assert train(*QUICK, tracker="wandb") == 0
    assert read_record(only_run() / "run.json").status is Status.finished
    _, table, line = warnings(capfd.readouterr().err)  # the first line is the URL of the run
    assert "the table samples is not sent" in table
    server.refusal = server.fails_from = None
    run_advised_command(line)
    assert server.only_run()[1].steps() == list(range(1, 13))


@pytest.mark.long
@pytest.mark.parametrize("processes", [1, 2])
def test_a_host_that_disappears_during_a_run_stops_nothing_and_all_data_is_kept(
    train: Train,
    command_line: CommandLine,
    only_run: Find,
    server: RecordingServer,
    logged_in: None,
    processes: int,
    capfd: pytest.CaptureFixture[str],
) -> None:
    vanishing = f"+callbacks.vanishing={{_target_: observers.RequestAt, batch: 5, url: '{server.url}{VANISH}'}}"
    words = (f"trainer.devices={processes}", vanishing, *QUICK)
    if processes == 1:
        assert train(*words, tracker="wandb") == 0
        log = capfd.readouterr().err
    else:
        done = command_line("logger=wandb", *words)
        log = done.stderr
        assert done.returncode == 0, log
    assert read_record(only_run() / "run.json").status is Status.finished
    assert server.requests
    _, _, line = warnings(log)  # the first line is the URL of the run
    assert "later: aiayn sync run=" in line
    (kept,) = (path for path in (only_run() / "wandb").glob("run-*") if not path.is_symlink())
    rows = kept_records(kept)
    history = [row["history"]["item"] for row in rows if row["type"] == "history"]
    assert [row["trainer/global_step"] for row in history if "train/loss" in row] == list(range(1, 13))
    assert [row["trainer/global_step"] for row in history if "val/ppl" in row] == [6, 12]
    assert any("dev/bleu" in json.dumps(row) for row in rows if row["type"] == "summary")
    assert [row["exit"].get("exit_code", 0) for row in rows if row["type"] == "exit"] == [0]


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="finds the process in /proc")
def test_training_continues_when_the_client_dies(
    train: Train, only_run: Find, server: RecordingServer, capfd: pytest.CaptureFixture[str]
) -> None:
    assert train("+callbacks.killer={_target_: observers.KillWandbAt, batch: 4}", tracker="wandb") == 0
    assert read_record(only_run() / "run.json").steps == 12
    _, line = warnings(capfd.readouterr().err)
    assert "later: aiayn sync run=" in line


def test_a_disabled_run_starts_nothing(train: Train, only_run: Find, server: RecordingServer, logged_in: None) -> None:
    assert train(*ONE_STEP, "logger.mode=disabled", tracker="wandb") == 0
    assert not server.requests
    assert not (only_run() / "wandb").exists()
    assert not wandb_processes()
