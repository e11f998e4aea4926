"""The run directory finds its checkpoints, and is locked by one process at a time."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ordinary_user import ordinary_user

from aiayn.errors import UserError
from aiayn.runs.directory import RunDirectory, average_name, open_run
from aiayn.system import files
from aiayn.system.files import WriteError

step_numbers = st.sets(st.integers(0, 10**8), max_size=6)

HOLD = """
import sys
from pathlib import Path
from aiayn.runs.directory import RunDirectory
with RunDirectory(Path(sys.argv[1])).locked():
    print("held", flush=True)
    sys.stdin.read()
"""


def with_checkpoints(path: Path, *, steps: set[int], best: set[int]) -> RunDirectory:
    directory = RunDirectory(path)
    directory.checkpoints.mkdir()
    for kind, numbers in (("step", steps), ("best", best)):
        for number in numbers:
            (directory.checkpoints / f"{kind}-{number:07d}.ckpt").touch()
    for other in (".step-0000001.ckpt.abc.partial", "step-x.ckpt", "step-1.ckpt.bak", "notes"):
        (directory.checkpoints / other).touch()
    return directory


@given(steps=step_numbers, best=step_numbers)
def test_checkpoints_are_found_by_name(steps: set[int], best: set[int]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        directory = with_checkpoints(Path(folder), steps=steps, best=best)
        assert list(directory.steps()) == sorted(steps)
        assert list(directory.steps("best")) == sorted(best)
        if steps:
            assert directory.checkpoint("last") == (max(steps), directory.steps()[max(steps)])
        if best:
            assert directory.checkpoint("best") == (max(best), directory.steps("best")[max(best)])
        for number in {*steps, *best}:
            assert directory.checkpoint(str(number))[0] == number


@given(steps=step_numbers, best=step_numbers, asked=st.sampled_from(["newest", "", "-1", "1.0", "7", "last", "best"]))
def test_a_refusal_lists_the_existing_checkpoints(steps: set[int], best: set[int], asked: str) -> None:
    there = {*(["last"] if steps else []), *(["best"] if best else []), *map(str, steps | best)}
    with tempfile.TemporaryDirectory() as folder:
        directory = with_checkpoints(Path(folder), steps=steps, best=best)
        if asked in there:
            return
        with pytest.raises(UserError) as refusal:
            directory.checkpoint(asked)
        listed = str(refusal.value).removeprefix(f"checkpoint={asked}: {directory.checkpoints} has ")
        assert set(listed.split(", ")) == (there or {"no checkpoint"})


def test_a_step_file_is_preferred_to_a_best_file(tmp_path: Path) -> None:
    directory = with_checkpoints(tmp_path, steps={7}, best={7})
    assert directory.checkpoint("7")[1].name == "step-0000007.ckpt"


@given(st.lists(st.sets(st.integers(1, 10**8), min_size=1, max_size=6).map(sorted), max_size=4, unique_by=tuple))
def test_averages_have_unique_names(sets: list[list[int]]) -> None:
    names = [average_name(steps) for steps in sets]
    assert len(set(names)) == len(sets)
    with tempfile.TemporaryDirectory() as folder:
        directory = with_checkpoints(Path(folder), steps={1}, best=set())
        for name in names:
            (directory.checkpoints / f"{name}.ckpt").touch()
        assert {name: step for name, (step, _) in directory.averages().items()} == {
            name: steps[-1] for name, steps in zip(names, sets, strict=True)
        }
        assert [directory.checkpoint(name)[1].stem for name in names] == names
        if len(names) == 1:
            assert directory.checkpoint("average") == directory.checkpoint(names[0])
        else:
            with pytest.raises(UserError, match=r"^checkpoint=average: "):
                directory.checkpoint("average")


def test_a_directory_is_locked_until_its_processes_end(tmp_path: Path) -> None:
    directory = RunDirectory(tmp_path / "run")
    free = [directory.is_free]
    command = [sys.executable, "-c", HOLD, str(directory.path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(UserError) as refusal, directory.locked():
            pass
        assert str(directory.path) in str(refusal.value)
        assert f"process {holder.pid} on" in str(refusal.value)
        free.append(directory.is_free)
        holder.kill()
        holder.wait()
    free.append(directory.is_free)
    assert free == [True, False, True]
    with directory.locked():  # though the killed process could not tidy up
        assert directory.path.is_dir()


def test_a_process_that_inherits_the_lock_holds_it_to_its_end(tmp_path: Path) -> None:
    """Such as a worker whose command was interrupted the moment after it had started it."""
    directory = RunDirectory(tmp_path / "run")
    with directory.locked() as lock:
        worker = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, pass_fds=(lock,))
    free = [directory.is_free]
    worker.communicate(b"\n")
    assert [*free, directory.is_free] == [False, True]


def test_partial_files_of_a_killed_attempt_are_removed_but_those_of_other_commands_are_not(tmp_path: Path) -> None:
    directory = RunDirectory(tmp_path / "run")
    with files.atomic_writer(directory.checkpoints / "average-of2-0000003-0000006.ckpt") as average:
        average.write(b"half of the mean")
        (directory.path / ".model.partial").mkdir()
        left = [directory.path / ".run.json.0a.partial", directory.checkpoints / ".step-0000003.ckpt.0a.partial"]
        for path in left:
            path.touch()
        directory.remove_partial_files()
    assert not [path for path in left if path.exists()]
    assert [path.name for path in directory.checkpoints.iterdir()] == ["average-of2-0000003-0000006.ckpt"]
    assert (directory.path / ".model.partial").is_dir()


def test_a_directory_is_unlocked_after_an_error(tmp_path: Path) -> None:
    directory = RunDirectory(tmp_path / "run")
    with pytest.raises(ZeroDivisionError), directory.locked():
        _ = 1 / 0
    with directory.locked(), pytest.raises(UserError, match=": locked by "), directory.locked():
        pass


def test_only_a_folder_with_a_record_is_a_run(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"^run=.*: not a run directory"):
        open_run(str(tmp_path))
    with pytest.raises(UserError, match=r"^run=.*nowhere: not a run directory"):
        open_run(str(tmp_path / "nowhere"))
    (tmp_path / "run.json").touch()
    assert open_run(str(tmp_path)) == RunDirectory(tmp_path)


def be_binary(path: Path) -> None:
    path.write_bytes(b"\xff\xfe\0")


def be_a_loop(path: Path) -> None:
    path.symlink_to(path.name)


def be_closed(path: Path) -> None:
    path.touch(mode=0)


DAMAGES = (be_binary, Path.mkdir, be_a_loop, be_closed, os.mkfifo)
ASKED: dict[str, Callable[[RunDirectory], object]] = {
    ".lock": lambda run: run.is_free,
    ".repeats": lambda run: run.repeats,
    "sweeps.txt": lambda run: run.sweeps,
    "checkpoints": lambda run: (run.steps(), run.averages()),
    "metrics.jsonl": lambda run: run.validation_perplexities(),
    "model.safetensors": lambda run: run.is_published,
}
"""By name of a bookkeeping file: what reads it."""


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("name", ASKED)
def test_a_bookkeeping_file_of_another_kind_is_named_or_harmless(
    tmp_path: Path, name: str, damage: Callable[[Path], None]
) -> None:
    run, path = RunDirectory(tmp_path), tmp_path / name
    damage(path)
    with ordinary_user():
        try:
            ASKED[name](run)
        except UserError as error:
            assert str(error).startswith(f"{path}: ")  # noqa: PT017 (it need not be raised)


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("name", [".lock", ".holder"])
def test_a_lock_of_another_kind_is_named_or_replaced(tmp_path: Path, name: str, damage: Callable[[Path], None]) -> None:
    run = RunDirectory(tmp_path)
    damage(tmp_path / name)
    try:
        with ordinary_user(), run.locked():
            assert run.holder is not None
    except WriteError as error:
        assert error.filename == str(tmp_path / name)  # noqa: PT017 (it need not be raised)
    if name == ".holder":
        assert run.holder is None, "the lock is free, whatever stands in the file"


def test_checkpoints_that_cannot_be_listed_are_not_absent(tmp_path: Path) -> None:
    directory = with_checkpoints(tmp_path, steps={3}, best=set())
    directory.checkpoints.chmod(0)
    with pytest.raises(UserError, match=rf"^{directory.checkpoints}: cannot be read \(Perm"), ordinary_user():
        directory.checkpoint("last")
    directory.checkpoints.chmod(0o700)
