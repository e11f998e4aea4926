"""A disk that is full is said in one line; what was written stays, and the same command goes on."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from aiayn.runs.record import Status, read_record

Train = Callable[..., int]
Find = Callable[[], Path]

LIMITED = """
import resource, sys
from aiayn.commands.front_end import main
limit = int(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
sys.exit(main(sys.argv[2:]))
"""
"""Every file is as long as the first argument at most: a write beyond fails as on a full disk."""

pytestmark = pytest.mark.slow


def limited(limit: int, *words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", LIMITED, str(limit), *words],
        cwd=folder,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


def test_a_checkpoint_that_does_not_fit_ends_the_run_in_one_line(
    train: Train,
    command_line: Callable[..., subprocess.CompletedProcess[str]],
    only_run: Find,
    tmp_path: Path,
) -> None:
    words = command_line("--cfg", "job").args[3:-2]  # what `python -m aiayn` is given
    said = limited(100_000, *words, folder=tmp_path)
    assert said.returncode == 2, said.stderr
    assert "Traceback" not in said.stderr
    complaint = said.stderr.splitlines()[-1].removeprefix("aiayn: ")
    assert complaint.startswith(f"paths.runs={tmp_path / 'runs'}: cannot write (File too large); free space")
    run = only_run()
    record = read_record(run / "run.json")
    assert (record.status, record.message, record.steps) == (Status.failed, complaint, 3)
    assert list((run / "checkpoints").iterdir()) == [], "no half of a checkpoint"
    assert [json.loads(line)["step"] for line in (run / "metrics.jsonl").read_text().splitlines()] == [1, 2, 3]

    assert train() == 0, "the same command, when there is room again"
    assert read_record(run / "run.json").status is Status.finished

    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    said = limited(100, "evaluate", f"run={run}", "decoding.beam_size=1", folder=tmp_path)
    assert (said.returncode, "Traceback" in said.stderr) == (2, False)
    assert said.stderr.splitlines()[-1].startswith(f"aiayn: run={run}: cannot write (File too large); free space")
    assert {path: path.read_bytes() for path in before} == before
