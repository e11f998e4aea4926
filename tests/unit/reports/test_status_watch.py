"""`aiayn status watch=true` on a real terminal."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from terminal import Terminal

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
        folder = runs / "table3" / row / "demo-seed7-00000000"
        folder.mkdir(parents=True, exist_ok=True)
        make_record(experiment=f"table3/{row}", max_steps=1000, **changes).write(folder / "run.json")

    return call


@pytest.fixture
def watching(runs: Path) -> Iterator[Terminal]:
    words = [sys.executable, "-m", "aiayn", "status", "watch=true", "interval=0.1", f"paths.runs={runs}"]
    with Terminal(words, folder=runs.parent, lines=12) as terminal:
        yield terminal


def test_what_changes_is_drawn_over_and_ctrl_c_ends_it_quietly(write: Callable[..., None], watching: Terminal) -> None:
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


def test_a_terminal_too_low_shows_what_is_not_finished(write: Callable[..., None], watching: Terminal) -> None:
    for row in ("a_h1", "a_h4", "a_h16", "a_h32", "b_dk16", "b_dk32", "c_n2", "c_n4"):
        write(row, steps=1000)
    write("e_learned", status=Status.interrupted, steps=300)
    watching.read_until(lambda: "8 finished, 1 interrupted" in watching.screen)
    assert any(line.startswith("│table3/e_learned") for line in watching.screen)
    assert not any(line.startswith("│table3/a_h1") for line in watching.screen)


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["watch=true"], "watch=true: standard output is no terminal"),
        (["watch=true", "interval=0"], "interval=0: must be more than 0"),
    ],
)
def test_what_cannot_be_watched_is_refused(runs: Path, words: list[str], complaint: str) -> None:
    result = subprocess.run(
        [sys.executable, "-m", "aiayn", "status", *words, f"paths.runs={runs}"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (result.returncode, result.stdout, result.stderr.count("\n")) == (2, "", 1)
    assert result.stderr.startswith(f"aiayn: {complaint}")
