"""However a run is stopped, the same command finishes it as if nothing had happened."""

import json
import shutil
import signal
from pathlib import Path

import pytest
from commands import Finished, Train, signal_at
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from run_files import assert_same_end, copied_run, losses, only_run

from aiayn.commands.front_end import main
from aiayn.runs.record import Status, read_record

SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1)


def recorder(path: Path) -> str:
    return f"+callbacks.recorder={{_target_: observers.BatchRecorder, path: {path}}}"


@pytest.mark.parametrize(
    ("batch", "number", "per_device"),
    [
        (10, signal.SIGINT, 200),
        pytest.param(0, signal.SIGTERM, 600, marks=pytest.mark.long),
        pytest.param(13, signal.SIGUSR1, 200, marks=pytest.mark.long),
    ],
)
def test_an_interrupted_run_resumes_exactly(
    train: Train,
    finished: Finished,
    tmp_path: Path,
    batch: int,
    number: int,
    per_device: int,
    capsys: pytest.CaptureFixture[str],
) -> None:
    budget = f"optimization.max_tokens_per_device={per_device}"
    undisturbed = finished(budget)
    capsys.readouterr()
    cut = ("paths.runs=cut", budget)
    assert train(*cut, signal_at(batch, number)) == 1
    assert "rerun the command to resume" in capsys.readouterr().err
    run = only_run(tmp_path / "cut")
    stopped = read_record(run / "run.json")
    accumulation = -(-600 // per_device)
    assert (stopped.status, stopped.steps) == (Status.interrupted, batch // accumulation + 1)
    assert train(*cut) == 0
    assert_same_end(run, undisturbed)


def test_a_run_with_a_setting_that_is_gone_goes_on_only_where_it_did_nothing(
    train: Train, finished: Finished, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    budget = "optimization.max_tokens_per_device=200"
    undisturbed = finished(budget)
    cut = ("paths.runs=cut", budget)
    assert train(*cut, signal_at(10)) == 1
    run = only_run(tmp_path / "cut")
    config, record = (run / "config.yaml").read_text(), (run / "run.json").read_text()

    def state(value: str) -> None:
        (run / "config.yaml").write_text(config.replace("\nlaunch:\n", f"\nlaunch:\n  static_shapes: {value}\n"))

    state("true")
    capsys.readouterr()
    assert train(*cut) == 2
    assert "config.yaml: launch.static_shapes=true: this version has no such setting" in capsys.readouterr().err
    assert (run / "run.json").read_text() == record
    state("false")
    assert train(*cut) == 0
    assert_same_end(run, undisturbed)


def test_a_signal_that_a_library_swallows_before_training_stops_the_run(train: Train, tmp_path: Path) -> None:
    assert train("+callbacks.signalled={_target_: observers.SignalBefore, number: 15, is_swallowed: true}") == 1
    stopped = read_record(only_run(tmp_path / "runs") / "run.json")
    assert (stopped.status, stopped.steps) == (Status.interrupted, 1)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_training_begins_leaves_an_interrupted_run(train: Train, tmp_path: Path, number: int) -> None:
    callback = f"{{_target_: observers.SignalBefore, number: {int(number)}, is_swallowed: false}}"
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # this process may ignore it
    try:
        assert train(f"+callbacks.signalled={callback}") == 1
        assert signal.getsignal(signal.SIGINT) is not signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
    stopped = read_record(only_run(tmp_path / "runs") / "run.json")
    assert (stopped.status, stopped.steps) == (Status.interrupted, 0)


@pytest.mark.long
def test_random_interruptions_change_neither_batches_nor_results(train: Train, tmp_path: Path) -> None:
    """Several in one run; an interruption in a batch that is done again would be met again."""
    assert train("paths.runs=whole", recorder(tmp_path / "whole.jsonl")) == 0

    @settings(max_examples=2, deadline=None, phases=[Phase.generate])
    @given(st.lists(st.integers(0, 10), min_size=1, max_size=2, unique=True).map(sorted), st.sampled_from(SIGNALS))
    def check(batches: list[int], number: int) -> None:
        shutil.rmtree(tmp_path / "cut", ignore_errors=True)
        (tmp_path / "cut.jsonl").unlink(missing_ok=True)
        cut = ("paths.runs=cut", recorder(tmp_path / "cut.jsonl"))
        for batch in batches:
            assert train(*cut, signal_at(batch, number)) == 1
        assert train(*cut) == 0
        assert (tmp_path / "cut.jsonl").read_text() == (tmp_path / "whole.jsonl").read_text()
        assert_same_end(only_run(tmp_path / "cut"), only_run(tmp_path / "whole"))

    check()


def test_a_killed_run_resumes_from_its_last_checkpoint_and_names_both_commits(
    train: Train, finished: Finished, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """SIGKILL leaves a record that says running, a torn line of metrics, and a checkpoint behind the last step."""
    undisturbed = finished()
    assert train(signal_at(8)) == 1
    run = only_run(tmp_path / "runs")
    (run / "checkpoints" / "step-0000009.ckpt").unlink()
    rewrite_record(run, status="running", commit="a" * 40, precision="bf16-mixed")
    with (run / "metrics.jsonl").open("a") as metrics:
        metrics.write('{"step": 10, "train/lo')
    assert train() == 0
    assert losses(run) == losses(undisturbed)
    record = read_record(run / "run.json")
    assert [(each.commit, each.precision) for each in record.earlier] == [("a" * 40, "bf16-mixed")]
    assert (record.precision, record.tf32) == ("32-true", False)
    capsys.readouterr()
    assert main(["report", "run", f"run={run}", "output=page.md"]) == 0
    page = Path("page.md").read_text()
    assert f"begun by {'a' * 40}" in page
    assert "32-true, begun in bf16-mixed" in page


def rewrite_record(run: Path, **changes: str) -> None:
    path = run / "run.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def test_a_run_of_another_commit_says_so(
    train: Train, finished: Finished, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = copied_run(finished(), tmp_path / "runs")
    capsys.readouterr()
    assert train() == 0
    assert "trained by" not in capsys.readouterr().err, "by the same commit"
    rewrite_record(run, commit="b" * 40)
    assert train() == 0
    (line,) = (line for line in capsys.readouterr().err.splitlines() if "already finished" in line)
    assert f"; trained by commit {'b' * 12}" in line
    assert line.endswith(": force=true trains it again")


def test_accumulation_does_not_change_the_update(train: Train, finished: Finished, tmp_path: Path) -> None:
    """Neither from the start, in four parts, nor from a checkpoint on, in three."""
    whole = finished("model.dropout=0.0")
    assert train("model.dropout=0.0", "optimization.max_tokens_per_device=150", signal_at(20)) == 1
    assert read_record(only_run(tmp_path / "runs") / "run.json").steps == 6
    assert train("model.dropout=0.0", "optimization.max_tokens_per_device=200") == 0
    own = losses(only_run(tmp_path / "runs"))
    assert list(own) == list(losses(whole))
    assert own == pytest.approx(losses(whole), rel=1e-4)


@pytest.mark.parametrize(
    ("trouble", "complaint"),
    [
        ("optimization.divergence_factor=0.5", "diverged"),
        ("+callbacks.poison={_target_: observers.PoisonAt, batch: 3}", "training loss is nan at step 4"),
    ],
)
def test_a_run_that_diverges_fails_with_a_message_and_is_tried_again(
    train: Train, tmp_path: Path, trouble: str, complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert train(trouble) == 1
    assert complaint in capsys.readouterr().err
    record = read_record(only_run(tmp_path / "runs") / "run.json")
    assert record.status is Status.failed
    assert record.message is not None
    assert complaint in record.message


def test_other_data_under_the_same_configuration_is_refused(
    train: Train, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["data.max_length=60", "tokenizer.vocabulary_size=300"]
    for split in ("train", "dev", "test"):
        for side in ("source", "target"):
            (tmp_path / f"{split}.{side}").write_text("".join(f"{side} sentence {i} of {split}\n" for i in range(40)))
            command.append(f"data.{split}.{side}={split}.{side}")
    assert train(*command, signal_at(4), corpus="text_files") == 1
    first = read_record(only_run(tmp_path / "runs") / "run.json").data_fingerprint
    (tmp_path / "train.source").write_text("".join(f"another sentence {i}\n" for i in range(40)))
    capsys.readouterr()
    assert train(*command, corpus="text_files") == 2
    shown = capsys.readouterr().err
    assert first is not None
    assert first in shown
    assert "restore the corpus" in shown
    (tmp_path / "train.source").write_text("".join(f"source sentence {i} of train\n" for i in range(40)))
    assert train(*command, corpus="text_files") == 0


def test_a_best_checkpoint_that_a_kill_left_beside_a_better_one_is_removed(train: Train, tmp_path: Path) -> None:
    """The newer one was written after the state to resume from; the older one was to be removed next."""
    assert train() == 0
    run = only_run(tmp_path / "runs")
    best = {step: run / "checkpoints" / f"best-{step:07d}.ckpt" for step in (6, 12)}
    record = read_record(run / "run.json")
    record.status, record.scores, record.ended = Status.interrupted, {}, None
    record.write(run / "run.json")
    shutil.copy(best[12], best[6])
    assert train() == 0
    assert [path.is_file() for path in best.values()] == [False, True]
