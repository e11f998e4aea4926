"""A run whose checkpoints were damaged goes on from the newest that is whole, to the same end."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from run_files import assert_same_end

from aiayn.commands.front_end import main
from aiayn.runs.record import Status, read_record

pytestmark = pytest.mark.slow

THERE = ("step-0000012", "best-0000012", "step-0000010", "best-0000008", "step-0000005")
"""What a kill while decoding leaves, newest first: both kinds of checkpoint, at steps of their own and at the last."""


class Undisturbed(NamedTuple):
    """A run that was done to its end."""

    command: list[str]
    run: Path
    killed: Path
    """A copy of its folder, as a kill while decoding would have left it."""


@pytest.fixture(scope="module")
def undisturbed(tiny: tuple[str, ...], shared_cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    runs = tmp_path_factory.mktemp("runs")
    intervals = ("optimization.checkpoint_interval=5", "optimization.validation_interval=4")
    kept = ("callbacks.latest.save_top_k=-1", "callbacks.best.save_top_k=-1")
    command = ["train", *tiny, *intervals, *kept, "logger=none", f"paths.cache={shared_cache}", f"paths.runs={runs}"]
    assert main(command) == 0
    (path,) = runs.glob("*/*/*/run.json")
    killed = shutil.copytree(path.parent, tmp_path_factory.mktemp("killed") / "run")
    (killed / "checkpoints" / "best-0000004.ckpt").unlink()
    assert {each.stem for each in (killed / "checkpoints").iterdir()} == set(THERE)
    record = read_record(killed / "run.json")
    record.status, record.scores, record.ended = Status.running, {}, None
    record.write(killed / "run.json")
    return Undisturbed(command, path.parent, killed)


@pytest.fixture
def finished(undisturbed: Undisturbed) -> Iterator[Path]:
    """A copy of the run as it ended; what was killed takes its place, since a checkpoint knows its folder."""
    finished = shutil.copytree(undisturbed.run, undisturbed.killed.with_name("finished"))
    shutil.rmtree(undisturbed.run)
    shutil.copytree(undisturbed.killed, undisturbed.run)
    yield finished
    shutil.rmtree(undisturbed.run)
    finished.rename(undisturbed.run)


def torn(content: bytes) -> bytes:
    return content[: len(content) // 2]


def flipped(content: bytes) -> bytes:
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]


def emptied(content: bytes) -> bytes:
    return b""


@pytest.mark.parametrize(("count", "damage"), [(1, emptied), (2, flipped), (4, torn)])
def test_the_end_is_that_of_the_undisturbed_run(
    undisturbed: Undisturbed,
    finished: Path,
    count: int,
    damage: Callable[[bytes], bytes],
    capsys: pytest.CaptureFixture[str],
) -> None:
    run = undisturbed.run
    damaged = [run / "checkpoints" / f"{name}.ckpt" for name in THERE[:count]]
    for path in damaged:
        path.write_bytes(damage(path.read_bytes()))
    capsys.readouterr()
    assert main(undisturbed.command) == 0
    warnings = [line for line in capsys.readouterr().err.splitlines() if ".damaged" in line]
    assert len(warnings) == count
    for path, warning in zip(damaged, warnings, strict=True):
        assert warning.startswith(f"{path}: not a readable checkpoint (")
        assert warning.endswith(f"renamed to {path.name}.damaged; resuming from {THERE[count]}.ckpt")
        assert path.with_name(f"{path.name}.damaged").is_file()
    assert_same_end(run, finished)
