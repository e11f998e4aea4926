"""The search for runs follows links, ends in a loop, finds each run once, and names what it cannot search."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from example_record import example_record
from hypothesis import given, settings
from hypothesis import strategies as st

from aiayn.errors import UserError
from aiayn.runs.directory import RunDirectory
from aiayn.runs.ledger import State, read_ledger
from aiayn.runs.record import Status
from aiayn.runs.search import name_below, run_directories, search_runs

NOBODY = 65534


def a_run(path: Path) -> Path:
    path.mkdir(parents=True)
    example_record(Status.finished).write(RunDirectory(path).record)
    return path


@contextmanager
def as_an_ordinary_user(folder: Path) -> Iterator[None]:
    """Permissions do not bind root; the working directory is `folder`, since the ones above it may be closed."""
    before = Path.cwd()
    folder.chmod(0o755)
    os.chdir(folder)
    user = os.geteuid()
    if user == 0:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        if user == 0:
            os.seteuid(user)
        os.chdir(before)


def test_a_run_on_another_disk_is_found_where_it_is_linked(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    a_run(runs / "table3" / "base" / "seed1")
    (runs / "table3" / "base" / "seed2").symlink_to(a_run(tmp_path / "disk" / "moved"))
    (runs / "more").symlink_to(a_run(tmp_path / "another" / "row" / "seed3").parent)
    names = [str(each.path.relative_to(runs)) for each in run_directories(runs)]
    assert names == ["more/seed3", "table3/base/seed1", "table3/base/seed2"]
    assert [entry.state for entry in read_ledger(runs)] == [State.finished] * 3
    for name in names:
        assert name_below(runs, runs / name) == name
        assert name_below(runs, (runs / name).resolve()) == name
    assert name_below(runs, tmp_path / "disk") is None


@settings(max_examples=40)
@given(links=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=6))
def test_each_run_is_found_once_under_its_own_path(
    tmp_path_factory: pytest.TempPathFactory, links: list[tuple[int, int]]
) -> None:
    """Whatever folders link to, also to those above them."""
    runs = tmp_path_factory.mktemp("tree") / "runs"
    folders = [runs, runs / "a", runs / "b", runs / "b" / "c", runs / "b" / "c" / "d"]
    own = [a_run(folder / f"run-{number}") for number, folder in enumerate(folders)]
    for number, (place, goal) in enumerate(links):
        (folders[place] / f"link-{number}").symlink_to(folders[goal])
    assert [each.path for each in run_directories(runs)] == sorted(own)


def test_what_cannot_be_searched_is_an_unreadable_entry(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    a_run(runs / "a")
    (runs / "gone").symlink_to(tmp_path / "unmounted")
    (runs / "loop").symlink_to(runs / "loop")
    (runs / "notes").symlink_to(Path(__file__))
    (runs / ".#editor").symlink_to("user@host.1")
    run, gone, loop = read_ledger(runs)
    assert (run.state, gone.state, loop.state) == (State.finished, State.unreadable, State.unreadable)
    assert f"gone: a link to {tmp_path / 'unmounted'}, which is not there" in str(gone.message)
    assert "loop: cannot be searched" in str(loop.message)


def test_a_closed_folder_is_named(tmp_path: Path) -> None:
    runs = Path("runs")
    for name in ("open", "closed"):
        a_run(tmp_path / runs / name / "run")
    (tmp_path / runs / "closed").chmod(0)
    with as_an_ordinary_user(tmp_path):
        closed, found = search_runs(runs)
    assert found.failure is None
    assert "closed: cannot be searched for runs (Permission denied)" in str(closed.failure)
    (tmp_path / runs).chmod(0)
    with as_an_ordinary_user(tmp_path), pytest.raises(UserError, match=r"^paths\.runs=runs: cannot be searched"):
        search_runs(runs)
    for folder in (runs, runs / "closed"):
        (tmp_path / folder).chmod(0o755)
