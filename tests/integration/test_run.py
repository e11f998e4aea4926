"""One command makes a run directory that explains itself, and every later command reads it."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from commands import Find, Train
from run_files import copied_run, last_checkpoint, metrics, runs_below

from aiayn.commands.front_end import main
from aiayn.config.freeze import load_config
from aiayn.data.preparation.prepared import PreparedData
from aiayn.evaluation.bleu import bleu_from_statistics, corpus_bleu
from aiayn.evaluation.perplexity import perplexity
from aiayn.evaluation.sentences import read_sentence_scores
from aiayn.runs.directory import RunDirectory
from aiayn.runs.record import Status, read_record


@pytest.fixture
def copied(trained_run: Path, tmp_path: Path, train: Train) -> Path:
    """The finished run of this test's own, which `train` without overrides finds."""
    return copied_run(trained_run, tmp_path / "runs")


def test_a_run_explains_itself(
    train: Train, only_run: Find, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert train() == 0
    run = only_run()
    shown = capsys.readouterr().out
    assert "paper" in shown
    assert "4.92" in shown
    assert "this run" in shown
    assert "INFO" not in shown

    record = read_record(run / "run.json")
    assert record.status is Status.finished
    assert (record.experiment, record.scale, record.seed, record.steps) == ("table3/base", "demo", 1, 12)
    assert record.config_hash in run.name
    assert record.parameters == sum(
        value.numel()
        for value in torch.load(run / "checkpoints/step-0000012.ckpt", weights_only=True)["state_dict"].values()
    )
    assert record.seconds > 0
    assert record.tokens_per_second
    assert record.data_fingerprint
    assert record.hardware["cores"]
    assert record.versions["torch"] == torch.__version__
    assert load_config(run / "config.yaml").identity.hash == record.config_hash
    assert (run / "run.log").read_text().count("BLEU") == 2

    assert main(["report", "run", f"run={run}", "output=result.md"]) == 0
    assert read_record(tmp_path / "result.json") == record
    page = (tmp_path / "result.md").read_text()
    assert f"{record.scores['test'].quality.score:.2f}" in page
    assert record.scores["test"].quality.signature in page
    assert "aiayn train data.sentences=300" in page
    assert "runs: runs" in page, "paths are shown from the folder that one stands in"


def test_metrics_follow_the_optimizer_steps(trained_run: Path) -> None:
    rows = metrics(trained_run)
    training = [row for row in rows if "train/loss" in row]
    assert [row["step"] for row in training] == list(range(1, 13))
    assert {"train/loss", "train/ppl", "train/tokens_per_second", "train/lr", "train/seconds", "step"} == set(
        training[0]
    )
    assert [row["step"] for row in rows if "val/ppl" in row] == [6, 12]
    assert training[-1]["train/loss"] < training[0]["train/loss"]


def test_scores_are_made_of_the_files(trained_run: Path, trained_data: PreparedData) -> None:
    run, record = trained_run, read_record(trained_run / "run.json")
    targets = {"dev": trained_data.split("dev").target_lines(), "test": trained_data.split("test").target_lines()}
    for split, references in targets.items():
        scores = record.scores[split]
        hypotheses = (run / scores.hypotheses).read_text().split("\n")[:-1]
        assert len(hypotheses) == len(references) == scores.sentences == 12
        assert scores.quality.score == corpus_bleu(hypotheses, references).score
        assert "tok:13a" in scores.quality.signature
        sentences = read_sentence_scores((run / scores.hypotheses).parent / f"{split}.sentences.jsonl")
        nll, tokens = np.array([row.nll for row in sentences]), np.array([row.tokens for row in sentences])
        assert scores.ppl == pytest.approx(perplexity(nll, tokens))
        statistics = np.array([row.bleu_statistics for row in sentences])
        assert bleu_from_statistics(statistics) == pytest.approx(scores.quality.score)
    validated = [row["val/ppl"] for row in metrics(run) if row["step"] == 12 and "val/ppl" in row]
    assert validated == [pytest.approx(record.scores["dev"].ppl, rel=1e-5)]


def test_a_finished_run_is_shown_and_not_done_again_and_knows_who_asked_for_it(
    train: Train, copied: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    content = (copied / "run.json").read_bytes()
    assert train() == 0
    first = capsys.readouterr().out
    assert "this run" in first
    for sweep in ("mine", "yours", "mine"):
        monkeypatch.setenv("AIAYN_SWEEP", sweep)
        assert train("trainer.enable_progress_bar=false") == 0
        assert capsys.readouterr().out == first
    assert (copied / "run.json").read_bytes() == content
    assert RunDirectory(copied).sweeps == ["mine", "yours"]
    assert main(["report", "comparison", "paths.runs=runs", "only.sweep=yours"]) == 0


def test_evaluate_scores_other_checkpoints_and_searches(copied: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = (copied / "run.json").read_bytes()
    assert main(["evaluate", f"run={copied}", "checkpoint=best", "splits=[test]", "decoding.beam_size=1"]) == 0
    assert "beam1" in capsys.readouterr().out
    (scores,) = copied.glob("evaluations/*beam1*/scores.json")
    assert set(json.loads(scores.read_text())) == {"test"}
    assert main(["evaluate", f"run={copied}"]) == 0
    (same,) = copied.glob("evaluations/step-0000012-beam2*/scores.json")
    record = read_record(copied / "run.json")
    assert json.loads(same.read_text())["dev"]["bleu"]["score"] == record.scores["dev"].quality.score
    assert (copied / "run.json").read_bytes() == before


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["checkpoint=newest"], "checkpoint=newest: "),
        (["splits=[]"], "splits=[]: choose from dev, test"),
        (["splits=[train]"], "splits=train: choose from dev, test"),
    ],
)
def test_evaluate_refuses_in_one_line(
    trained_run: Path, words: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["evaluate", f"run={trained_run}", *words]) == 2
    shown = capsys.readouterr().err
    assert complaint in shown
    assert shown.count("\n") == 1


def test_a_trial_says_that_it_is_one(train: Train, only_run: Find, capsys: pytest.CaptureFixture[str]) -> None:
    assert train("trainer.fast_dev_run=2") == 0
    record = read_record(only_run() / "run.json")
    assert (record.status, record.steps, record.max_steps) == (Status.finished, 2, 12)
    assert record.message == "ended by trainer.fast_dev_run after 2 of 12 steps"
    assert "2 of 12" in capsys.readouterr().out
    assert {scores.sentences for scores in record.scores.values()} == {8}
    assert record.trial == "trainer.fast_dev_run=2"


def test_overfitting_repeats_ten_batches(train: Train, tmp_path: Path) -> None:
    path = tmp_path / "batches.jsonl"
    recorder = f"+callbacks.recorder={{_target_: observers.BatchRecorder, path: {path}}}"
    assert train("debug=overfit", recorder, "optimization.max_steps=25", "optimization.validation_interval=25") == 0
    served = path.read_text().splitlines()
    assert len(served) == 25
    assert served[10:20] == served[:10]
    assert len(set(served)) == 10


def test_a_run_that_time_ends_says_so(train: Train, only_run: Find) -> None:
    assert train("trainer.max_time=00:00:00:01", "optimization.max_steps=100000") == 0
    record = read_record(only_run() / "run.json")
    assert 0 < record.steps < 100_000
    assert record.message == f"ended by trainer.max_time after {record.steps:,} of 100,000 steps"


def test_a_few_sentences_are_scored_when_asked(train: Train, only_run: Find) -> None:
    assert train("decoding.limit_sentences=5") == 0
    run = only_run()
    scores = read_record(run / "run.json").scores
    assert {result.sentences for result in scores.values()} == {5}
    assert {len((run / result.hypotheses).read_text().splitlines()) for result in scores.values()} == {5}
    assert main(["evaluate", f"run={run}", "splits=dev", "decoding.limit_sentences=12"]) == 0
    (more,) = run.glob("evaluations/*first12/dev.hypotheses.txt")
    assert more.read_text().startswith((run / scores["dev"].hypotheses).read_text())


def test_a_run_without_checkpoints_leaves_none(train: Train, only_run: Find) -> None:
    assert train("trainer.enable_checkpointing=false") == 0
    assert not list(only_run().glob("**/*.ckpt"))


def test_a_vocabulary_that_the_text_cannot_fill_is_told(train: Train, capsys: pytest.CaptureFixture[str]) -> None:
    assert train("tokenizer.vocabulary_size=9000", "optimization.max_steps=1") == 0
    assert "tokenizer.vocabulary_size=9000: the training text yields only " in capsys.readouterr().err


def test_outputs_beyond_the_learned_positions_are_refused_before_training(
    train: Train, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    learned = ("model.positions=learned", "model.max_positions=95", "optimization.max_steps=1")
    assert train(*learned, "decoding.max_extra_length=55") == 2
    assert "model.max_positions=95: the dev split has " in capsys.readouterr().err
    assert not list(tmp_path.glob("**/*.ckpt"))
    assert train(*learned) == 0


@pytest.mark.long
def test_a_refused_job_of_a_sweep_leaves_nothing(train: Train, tmp_path: Path) -> None:
    assert train("-m", "trainer.precision=half,32-true", "paths.runs=sweep") == 1
    (run,) = runs_below(tmp_path / "sweep")
    assert read_record(run / "run.json").precision == "32-true"
    assert list((tmp_path / "sweep").glob("*/*/*")) == [run]


def test_weights_of_another_run_start_a_new_one(train: Train, trained_run: Path, only_run: Find) -> None:
    assert train(f"init_from={trained_run}", "optimization.max_steps=1", "optimization.learning_rate_factor=1e-20") == 0
    old, new = (last_checkpoint(run)["state_dict"] for run in (trained_run, only_run()))
    assert all(torch.allclose(old[name], new[name], atol=1e-7) for name in old)


def test_a_run_directory_is_held_by_one_process(train: Train, copied: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (copied / "run.json").unlink()
    with RunDirectory(copied).locked():
        assert train() == 2
    assert ": locked by " in capsys.readouterr().err


def test_force_starts_anew(train: Train, copied: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = read_record(copied / "run.json")
    (copied / "stray").touch()
    assert train("force=true") == 0
    assert "started anew" in capsys.readouterr().err
    second = read_record(copied / "run.json")
    assert second.run_id != first.run_id
    assert second.config_hash == first.config_hash
    assert second.scores["dev"].ppl == first.scores["dev"].ppl
    assert not (copied / "stray").exists()
    assert (first.repeats, second.repeats) == (0, 1)
    assert not load_config(copied / "config.yaml").force


def test_only_what_may_have_finished_counts_as_trained_anew(train: Train, copied: Path) -> None:
    directory, record = RunDirectory(copied), read_record(copied / "run.json")
    directory.count_repeat()
    replace(record, status=Status.interrupted).write(directory.record)
    assert train("force=true") == 0
    assert read_record(directory.record).repeats == 1
    directory.record.write_text("damaged")
    assert train("force=true") == 0
    assert read_record(directory.record).repeats == 2


def test_status_lists_every_run(train: Train, copied: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert train("optimization.divergence_factor=0.5") == 1
    capsys.readouterr()
    assert main(["status"]) == 0
    shown = capsys.readouterr().out
    names = [str(run.relative_to(tmp_path / "runs")) for run in runs_below(tmp_path / "runs")]
    assert len(names) == 2
    assert all(name in shown for name in names)
    assert "finished" in shown
    assert "1 finished, 1 failed" in shown
    assert "the run diverged" in shown
    assert main(["status", "paths.runs=nowhere"]) == 2
