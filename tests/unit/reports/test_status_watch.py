"""`aiayn status watch=true` on a real terminal."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from terminal import Terminal

from aiayn.commands.front_end import main
from aiayn.runs.record import Record, Status

MakeRecord = Callable[..., Record]


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    (tmp_path / "runs").mkdir()
    return tmp_path / "runs"


@pytest.fixture
def write(runs: Path, make_record: MakeRecord) -> Callable[..., None]:
    """Write the record of a run."""

    def call(row: str, **changes: object) -> None:
        record = make_record(experiment=f"table3/{row}", max_steps=1000, **changes)
        record.write(runs / "table3" / row / "demo-seed7-00000000" / "run.json")

    return call


@pytest.fixture
def watching(runs: Path) -> Iterator[Terminal]:
    words = [sys.executable, "-m", "aiayn", "status", "watch=true", "interval=0.1", f"paths.runs={runs}"]
    with Terminal(words, folder=runs.parent, lines=12) as terminal:
        yield terminal


def test_changes_are_drawn_over_and_ctrl_c_ends_it_quietly(write: Callable[..., None], watching: Terminal) -> None:
    watching.read_until(lambda: any("no runs below" in line for line in watching.screen))
    write("base", status=Status.interrupted, steps=300)
    watching.read_until(lambda: "1 interrupted" in watching.screen)
    before = len(watching.written)
    watching.read_for(1.0)
    assert len(watching.written) == before, "what stays the same is not drawn again"
    write("base", status=Status.finished, steps=1000)
    watching.read_until(lambda: "1 finished" in watching.screen)
    assert not any("interrupted" in line or "no runs" in line for line in watching.screen)
    last = watching.screen
    watching.interrupt()
    assert watching.wait() == 0
    assert [line for line in watching.screen if line != "^C"] == last


def test_a_low_terminal_shows_unfinished_runs_only(write: Callable[..., None], watching: Terminal) -> None:
    for row in ("a_h1", "a_h4", "a_h16", "a_h32", "b_dk16", "b_dk32", "c_n2", "c_n4"):
        write(row, steps=1000)
    write("e_learned", status=Status.interrupted, steps=300)
    watching.read_until(lambda: "8 finished, 1 interrupted" in watching.screen)
    assert any(line.startswith(" table3/e_learned") for line in watching.screen)
    assert not any(line.startswith(" table3/a_h1") for line in watching.screen)


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["watch=true"], "watch=true: standard output is no terminal"),
        (["watch=true", "interval=0"], "interval=0.0: must be greater than 0"),
    ],
)
def test_a_file_and_no_interval_are_refused(
    runs: Path, words: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["status", *words, f"paths.runs={runs}"]) == 2
    printed = capsys.readouterr()
    assert (printed.out, printed.err.count("\n")) == ("", 1)
    assert printed.err.startswith(f"aiayn: {complaint}")
