"""Names of files and folders that are not UTF-8, and a working folder that was removed."""

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from commands import AIAYN, Said
from example_record import example_record

from aiayn.config.compose import compose_command
from aiayn.config.freeze import frozen_text, to_dataclass
from aiayn.config.schema import TrainConfig
from aiayn.runs.directory import RunDirectory

NAME = os.fsdecode(b"caf\xe9")


def ended(folder: Path, *words: str, **variables: str) -> Said:
    environment = {**os.environ, **variables}
    done = subprocess.run([*AIAYN, *words], cwd=folder, env=environment, capture_output=True, check=False)
    return Said(done.returncode, done.stdout.decode(), done.stderr.decode())


def refusal(said: Said) -> str:
    assert said.code == 2
    (line,) = said.err.splitlines()
    return line


def test_a_removed_working_folder_is_named_and_help_needs_none(tmp_path: Path) -> None:
    script = 'mkdir gone && cd gone && rmdir ../gone && exec "$@"'
    for words, code, said in (
        (["status"], 2, "aiayn: the working folder cannot be used (No such file or directory); change to one"),
        (["train", "scale=demo"], 2, "aiayn: the working folder cannot be used"),
        (["--version"], 0, ""),
    ):
        command = ["sh", "-c", script, "sh", *AIAYN, *words]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr[: len(said)]) == (code, said)
        assert len(done.stderr.splitlines()) == bool(said)


@pytest.mark.parametrize("words", [["status", f"paths.runs={NAME}"], ["train", f"'data.train.source=\"{NAME}\"'"]])
def test_a_word_that_is_not_utf8_is_refused_as_such(aiayn: Any, words: list[str]) -> None:
    said = aiayn(*words)
    assert said.code == 2
    assert r"\udce9" in said.err
    assert "is not UTF-8; rename the file or folder" in said.err
    assert "line break" not in said.err


def test_a_run_in_a_folder_that_is_not_utf8_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    folder = tmp_path / NAME
    folder.mkdir()
    line = refusal(ended(folder, "train", "scale=demo", "logger=none"))
    assert r"caf\udce9/" in line
    assert "is not UTF-8, and so in no configuration; rename the file or folder" in line
    assert not list(folder.iterdir())


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [["status", "format=json"], ["report", "table3", "output=t.md"], ["report", "page", "output=p.html"]],
    ids=" ".join,
)
def test_reports_show_runs_whose_path_is_not_utf8(tmp_path: Path, words: list[str]) -> None:
    run = RunDirectory(tmp_path / "runs" / NAME / "run")
    run.path.mkdir(parents=True)
    config = to_dataclass(compose_command("train", ["scale=demo", "experiment=table3/base"]), TrainConfig)
    run.config.write_text(frozen_text(config), encoding="utf-8")
    example_record().write(run.record)
    said = ended(tmp_path, *words, PYTHONIOENCODING="utf-8:strict")
    assert (said.code, "Traceback" in said.err, "UnicodeEncodeError" in said.err) == (0, False, False), said.err
    assert not said.out.encode().count(b"\xe9")
