"""What does not fit a run is refused before it begins: no run directory is left, and W&B hears nothing of it."""

from pathlib import Path

import pytest
from commands import Train

REFUSED = {
    "too few rows for any vocabulary": (["model.vocabulary_rows=10"], "model.vocabulary_rows=10: must be at least "),
    "too few rows for this vocabulary": (
        ["model.vocabulary_rows=260"],
        "model.vocabulary_rows=260: the vocabulary has",
    ),
    "no such file": (["init_from=nowhere"], "init_from={here}/nowhere: no such run directory or checkpoint"),
    "no checkpoint": (["init_from=text.txt"], "init_from={here}/text.txt: not a readable checkpoint ("),
    "no run directory": (["init_from=."], "init_from={here}: not a run directory"),
    "another width": (
        ["init_from={run}", "model.d_ff=8"],
        "init_from={run}/checkpoints/step-0000012.ckpt: its weights",
    ),
    "another attention": (
        ["init_from={run}", "model.attention=general"],
        "init_from={run}/checkpoints/step-0000012.ckpt: its weights do not fit this model (it lacks ",
    ),
    "another vocabulary": (
        ["init_from={run}", "data.seed=5"],
        "init_from={run}/checkpoints/step-0000012.ckpt: its run has another vocabulary ({run}/tokenizer.json)",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_run_that_cannot_begin_leaves_nothing(
    train: Train, trained_run: Path, tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "text.txt").write_text("no checkpoint\n")
    words, answer = REFUSED[name]
    assert train(*(word.format(run=trained_run) for word in words), "seed=3", tracker="wandb") == 2
    said = capsys.readouterr().err
    assert said.splitlines()[-1].startswith("aiayn: " + answer.format(run=trained_run, here=tmp_path))
    assert "Traceback" not in said
    assert [path for path in (tmp_path / "runs").rglob("*") if path.is_file()] == []


def test_a_run_without_checkpoints_starts_no_other(
    train: Train, trained_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "run.json").write_bytes((trained_run / "run.json").read_bytes())
    assert train("init_from=run", "seed=3") == 2
    said = capsys.readouterr().err
    assert said == f"aiayn: init_from={tmp_path}/run: {tmp_path}/run/checkpoints has no checkpoint; name another run\n"
