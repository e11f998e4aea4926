"""However a run is stopped, the same command finishes it as if nothing had happened."""

import json
import shutil
import signal
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from comparison import assert_same_end
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from aiayn.commands.front_end import main
from aiayn.runs.record import Status, read_record

Train = Callable[..., int]
Find = Callable[[], Path]

SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1)


def losses(run: Path) -> list[tuple[int, float]]:
    rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    return [(row["step"], row["train/loss"]) for row in rows if "train/loss" in row]


def recorder(path: Path) -> str:
    return f"+callbacks.recorder={{_target_: observers.BatchRecorder, path: {path}}}"


def disturber(batch: int, number: int) -> str:
    return f"+callbacks.disturber={{_target_: observers.SignalAt, batch: {batch}, number: {number}}}"


def budget(per_device: int) -> str:
    return f"optimization.max_tokens_per_device={per_device}"


@pytest.fixture(scope="module")
def whole(tiny: tuple[str, ...], shared_cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[int], Path]:
    """A run that nobody disturbs, for each budget of a device; tests only read it, and its batches beside it."""

    @cache
    def run(per_device: int) -> Path:
        folder = tmp_path_factory.mktemp("whole")
        words = ("logger=none", budget(per_device), recorder(folder / "batches.jsonl"))
        assert main(["train", *tiny, *words, f"paths.runs={folder}", f"paths.cache={shared_cache}"]) == 0
        (record,) = folder.glob("*/*/*/run.json")
        return record.parent

    return run


@pytest.mark.parametrize(
    ("batch", "number", "per_device"),
    [(0, signal.SIGTERM, 600), (5, signal.SIGINT, 600), (10, signal.SIGTERM, 200), (13, signal.SIGUSR1, 200)],
)
def test_an_interrupted_run_goes_on_exactly(
    train: Train,
    whole: Callable[[int], Path],
    tmp_path: Path,
    batch: int,
    number: int,
    per_device: int,
    capsys: pytest.CaptureFixture[str],
) -> None:
    undisturbed = whole(per_device)
    capsys.readouterr()

    cut = ("paths.runs=cut", budget(per_device), recorder(tmp_path / "cut.jsonl"))
    assert train(*cut, disturber(batch, number)) == 1
    assert "rerun the command to resume" in capsys.readouterr().err
    (run,) = (path.parent for path in tmp_path.glob("cut/*/*/*/run.json"))
    stopped = read_record(run / "run.json")
    accumulation = -(-600 // per_device)
    assert (stopped.status, stopped.steps) == (Status.interrupted, batch // accumulation + 1)
    assert train(*cut) == 0
    assert (tmp_path / "cut.jsonl").read_text() == (undisturbed.parents[2] / "batches.jsonl").read_text()
    assert_same_end(run, undisturbed)


def test_wherever_and_however_often_it_is_interrupted(
    train: Train, whole: Callable[[int], Path], tmp_path: Path
) -> None:
    """Random points of interruption, several in one run: one that has gone is met again, as in life."""
    undisturbed, cut = whole(600), ("paths.runs=cut", budget(600))

    @settings(max_examples=3, deadline=None, phases=[Phase.generate])
    @given(st.lists(st.integers(0, 10), min_size=1, max_size=3, unique=True).map(sorted), st.sampled_from(SIGNALS))
    def check(batches: list[int], number: int) -> None:
        shutil.rmtree(tmp_path / "cut", ignore_errors=True)
        for batch in batches:
            assert train(*cut, disturber(batch, number)) == 1
        assert train(*cut) == 0
        (run,) = (path.parent for path in tmp_path.glob("cut/*/*/*/run.json"))
        assert_same_end(run, undisturbed)

    check()


def test_a_killed_run_goes_on_from_its_last_checkpoint(
    train: Train, whole: Callable[[int], Path], tmp_path: Path
) -> None:
    """What SIGKILL leaves: a record that says running, a torn line of metrics, a checkpoint behind the last step."""
    cut = ("paths.runs=cut", budget(600))
    assert train(*cut, disturber(8, signal.SIGTERM)) == 1
    (run,) = (path.parent for path in tmp_path.glob("cut/*/*/*/run.json"))
    (run / "checkpoints" / "step-0000009.ckpt").unlink()
    record = read_record(run / "run.json")
    record.status = Status.running
    record.write(run / "run.json")
    with (run / "metrics.jsonl").open("a") as metrics:
        metrics.write('{"step": 10, "train/lo')
    assert train(*cut) == 0
    assert losses(run) == losses(whole(600))


def rewritten(run: Path, **changes: str) -> None:
    """Have the record say something else."""
    path = run / "run.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def test_a_run_of_two_commits_and_one_of_another_commit_say_so(
    train: Train, only_run: Find, capsys: pytest.CaptureFixture[str]
) -> None:
    assert train(disturber(5, signal.SIGTERM)) == 1
    rewritten(only_run(), commit="a" * 40)
    assert train() == 0
    record = read_record(only_run() / "run.json")
    assert record.earlier_commits == ["a" * 40]
    assert main(["report", "run", f"run={only_run()}"]) == 0
    assert f"begun by {'a' * 40}" in capsys.readouterr().out
    assert train() == 0
    assert "made by" not in capsys.readouterr().err, "by the same commit"
    rewritten(only_run(), commit="b" * 40)
    assert train() == 0
    (line,) = (line for line in capsys.readouterr().err.splitlines() if "finished already" in line)
    assert f"; made by commit {'b' * 12}" in line
    assert line.endswith(": force=true does it again")


def test_interruptions_leave_no_more_checkpoints_than_an_undisturbed_run(train: Train, only_run: Find) -> None:
    for batch in (4, 7):
        assert train(disturber(batch, signal.SIGTERM)) == 1
    assert train() == 0
    assert [path.name for path in sorted((only_run() / "checkpoints").glob("step-*"))] == [
        "step-0000009.ckpt",
        "step-0000012.ckpt",
    ]


def test_a_run_goes_on_under_another_accumulation(train: Train, tmp_path: Path) -> None:
    assert train("paths.runs=whole", "model.dropout=0.0") == 0
    cut = ("paths.runs=cut", "model.dropout=0.0")
    assert train(*cut, disturber(4, signal.SIGTERM)) == 1
    assert train(*cut, "optimization.max_tokens_per_device=150") == 0
    whole, own = (losses(next(tmp_path.glob(f"{name}/*/*/*/run.json")).parent) for name in ("whole", "cut"))
    assert [step for step, _ in own] == [step for step, _ in whole]
    assert [loss for _, loss in own] == pytest.approx([loss for _, loss in whole], rel=1e-4)


def test_accumulation_does_not_change_the_update(train: Train, tmp_path: Path) -> None:
    same = ("model.dropout=0.0", "optimization.max_steps=6")
    assert train("paths.runs=one", *same) == 0
    assert train("paths.runs=many", *same, "optimization.max_tokens_per_device=150") == 0
    one, many = (losses(next(tmp_path.glob(f"{name}/*/*/*/run.json")).parent) for name in ("one", "many"))
    assert [step for step, _ in one] == [step for step, _ in many]
    assert [loss for _, loss in many] == pytest.approx([loss for _, loss in one], rel=1e-5)


@pytest.mark.parametrize(
    ("trouble", "complaint"),
    [
        ("optimization.divergence_factor=0.5", "diverged"),
        ("+callbacks.poison={_target_: observers.PoisonAt, batch: 3}", "training loss is nan at step 4"),
    ],
)
def test_a_run_that_diverges_fails_with_a_message_and_is_tried_again(
    train: Train, only_run: Find, trouble: str, complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert train(trouble) == 1
    assert complaint in capsys.readouterr().err
    record = read_record(only_run() / "run.json")
    assert record.status is Status.failed
    assert record.message is not None
    assert complaint in record.message


def test_other_data_under_the_same_configuration_is_refused(
    train: Train, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for split in ("train", "dev", "test"):
        for side in ("source", "target"):
            (tmp_path / f"{split}.{side}").write_text("".join(f"{side} sentence {i} of {split}\n" for i in range(40)))
    command = ["data.max_length=60", "tokenizer.vocabulary_size=300"]
    command += [
        f"data.{split}.{side}={split}.{side}" for split in ("train", "dev", "test") for side in ("source", "target")
    ]
    assert train(*command, disturber(4, signal.SIGTERM), corpus="text_files") == 1
    first = read_record(next(tmp_path.glob("runs/*/*/*/run.json"))).data_fingerprint
    (tmp_path / "train.source").write_text("".join(f"another sentence {i}\n" for i in range(40)))
    capsys.readouterr()
    assert train(*command, corpus="text_files") == 2
    shown = capsys.readouterr().err
    assert first is not None
    assert first in shown
    assert "restore the corpus" in shown
    (tmp_path / "train.source").write_text("".join(f"source sentence {i} of train\n" for i in range(40)))
    assert train(*command, corpus="text_files") == 0
