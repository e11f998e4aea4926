"""Contenders take turns in processes of their own."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contest import Contender, contest, ratios, spread

PLAYERS = """
import os, time

def player(*, name, log, seconds, **_):
    def turn(number):
        with open(log, "a") as stream:
            stream.write(f"{name} {number} {os.getpid()} {os.environ['OMP_NUM_THREADS']}\\n")
        time.sleep(seconds)
        print("what a library prints is no answer")
        return 10.0
    return turn

def missing(**_):
    import a_library_that_nobody_has
"""


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with contenders, from which the processes are started."""
    (tmp_path / "players.py").write_text(PLAYERS)
    monkeypatch.setattr("contest.SOURCES", tmp_path)
    return tmp_path


def test_they_alternate_on_the_same_rounds_and_one_that_cannot_start_is_noted(work: Path) -> None:
    log = work / "log"
    contenders = [
        Contender("quick", "players:player", settings={"name": "quick", "seconds": 0.01}),
        Contender("absent", "players:missing"),
        Contender("slow", "players:player", settings={"name": "slow", "seconds": 0.05}),
    ]
    answers, failed = contest(contenders, {"work": str(work), "log": str(log)}, rounds=3, warm_up=1, threads=1)
    assert "a_library_that_nobody_has" in failed.pop("absent")
    assert not failed
    assert {name: len(done) for name, done in answers.items()} == {"quick": 3, "slow": 3}
    assert ratios(answers, "quick", "slow").median > 1
    assert all(each.peak_bytes >= each.resident_bytes * 0.5 > 0 for done in answers.values() for each in done)
    turns = [line.split() for line in log.read_text().splitlines()]
    assert [int(number) for _, number, *_ in turns] == [0, 0, 1, 1, 2, 2, 3, 3]
    assert {frozenset(name for name, *_ in turns[start : start + 2]) for start in range(0, 8, 2)} == {
        frozenset({"quick", "slow"})
    }
    assert len({process for *_, process, _ in turns}) == 2
    assert {threads for *_, threads in turns} == {"1"}


@given(st.lists(st.floats(0.1, 10), min_size=1, max_size=9))
def test_the_quartiles_enclose_the_median(values: list[float]) -> None:
    found = spread(values)
    assert min(values) <= found.low <= found.median <= found.high <= max(values)
