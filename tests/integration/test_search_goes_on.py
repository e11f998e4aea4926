"""A search goes on where it was left, whether it was stopped, killed, or is asked for more."""

import os
import signal
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from commands import AIAYN, CommandLine, until
from run_files import losses

from aiayn.runs.record import Status, read_record

if TYPE_CHECKING:
    from optuna.trial import FrozenTrial

pytestmark = pytest.mark.long

optuna = pytest.importorskip("optuna", reason="the extra aiayn[search] is not installed")

SHORT = ("optimization.max_steps=20", "optimization.checkpoint_interval=5", "optimization.validation_interval=20")


def trials(folder: Path) -> "list[FrozenTrial]":
    (name,) = optuna.get_all_study_names(storage := f"sqlite:///{folder}/runs/search.db")
    assert name.startswith("table3/base/demo-seed1-")
    found: list[FrozenTrial] = optuna.load_study(study_name=name, storage=storage).get_trials()
    return found


def records(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in (folder / "runs").glob("*/*/*/run.json")}


def kill_in_the_first_trial(folder: Path, words: tuple[str, ...]) -> None:
    """Start a search, and end it and its worker after the first checkpoint as a power cut would."""
    with subprocess.Popen(
        [*AIAYN, "train", *words],
        cwd=folder,
        stderr=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    ) as killed:
        until(lambda: list(folder.glob("runs/*/*/*/checkpoints/step-*.ckpt")))
        workers = Path(f"/proc/{killed.pid}/task/{killed.pid}/children").read_text().split()
        for process in (killed.pid, *map(int, workers)):
            os.kill(process, signal.SIGKILL)


def test_a_search_goes_on_where_it_was_left(command_line: CommandLine, tmp_path: Path, tiny: tuple[str, ...]) -> None:
    words = ("sweeps=search", *SHORT, "optimization.warmup_steps=interval(5, 20)")
    kill_in_the_first_trial(tmp_path, (*tiny, "logger=none", *words, "hydra.sweeper.trials=2"))
    assert [trial.state.name for trial in trials(tmp_path)] == ["RUNNING"]
    (killed,) = records(tmp_path)

    two = command_line(*words, "hydra.sweeper.trials=2")
    assert two.returncode == 0, two.stderr
    assert read_record(killed).status is Status.finished, "taken up, not lost"
    assert list(losses(killed.parent)) == list(range(1, 21))
    before, known = records(tmp_path), trials(tmp_path)
    assert [trial.state.name for trial in known] == ["COMPLETE", "COMPLETE"]
    assert len(before) == 2
    ppl = [read_record(path).scores["dev"].ppl for path in before]
    assert sorted(trial.value or 0 for trial in known) == sorted(ppl)
    assert f"best: PPL {min(ppl):.2f} (dev), " in two.stdout

    three = command_line(*words, "hydra.sweeper.trials=3", "hydra/launcher=joblib", "hydra.launcher.n_jobs=2")
    assert three.returncode == 0, three.stderr
    after = records(tmp_path)
    assert len(after) == 3
    assert {path: after[path] for path in before} == before, "nothing is done twice"
    chosen = [tuple(trial.params.values()) for trial in trials(tmp_path)]
    assert len(set(chosen)) == 3, "going on does not choose the first values again"

    again = command_line(*words, "hydra.sweeper.trials=3")
    assert again.returncode == 0, again.stderr
    assert again.stdout == three.stdout[-len(again.stdout) :], "only the table and the best"
    assert records(tmp_path) == after
