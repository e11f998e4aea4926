"""Bars appear on a terminal for slow work, unbroken by lines; elsewhere there are lines without control codes."""

import subprocess
import sys
from pathlib import Path

import pytest
from terminal import Terminal, screen_after

WORK = """
import logging, sys, time
from aiayn.system import progress
from aiayn.system.progress import Bar, LineHandler, draw_lines, say

def work(seconds, *, description="work", stays=False, inside=lambda: None):
    with Bar(description, total=5, unit=" things", stays=stays) as bar:
        for number in range(5):
            bar.reach(number + 1, [f"at {number}"])
            time.sleep(seconds / 5)
            if number == 3:
                inside()

logging.basicConfig(level=logging.INFO, format="%(message)s", handlers=[LineHandler()])
progress.DELAY_SECONDS = 0.3  # so that the tests are quick
SLOW, QUICK = 0.8, 0.02
"""


def on_terminal(program: str, folder: Path, *, columns: int = 80, **environment: str) -> tuple[str, list[str]]:
    """What a program writes on a terminal, and what stands there in the end."""
    words = [sys.executable, "-c", WORK + program]
    with Terminal(words, folder=folder, columns=columns, environment=environment) as terminal:
        assert terminal.wait() == 0, terminal.written
        return terminal.written, terminal.screen


@pytest.mark.parametrize("columns", [40, 80])
def test_slow_work_has_a_bar_as_wide_as_the_terminal_and_quick_work_has_none(tmp_path: Path, columns: int) -> None:
    written, screen = on_terminal("work(QUICK, description='quick', stays=True); work(SLOW)", tmp_path, columns=columns)
    drawn = {line.rstrip() for line in written.replace("\x1b[J", "").split("\r") if line.strip()}
    assert drawn, "the slow one was drawn"
    assert all(line.startswith("work ") and len(line) <= columns for line in drawn)
    assert screen == [], "and is gone"


def test_lines_stand_above_a_bar_which_is_redrawn(tmp_path: Path) -> None:
    program = "work(SLOW, stays=True, inside=lambda: logging.info('a remark, longer than nothing'))"
    written, screen = on_terminal(program, tmp_path)
    assert screen[0] == "a remark, longer than nothing"
    assert len(screen) == 2
    assert screen[1].startswith("work 5/5 things")
    before, after = written.split("a remark, longer than nothing")
    assert "work 4/5" in before.rpartition("\x1b[J")[0]
    assert after.lstrip("\r\n\x1b[J").startswith("work 4/5"), "drawn again at once"


def test_a_line_does_not_draw_a_bar_before_its_delay(tmp_path: Path) -> None:
    written, screen = on_terminal("work(QUICK, inside=lambda: say('a remark'))", tmp_path)
    assert "work" not in written
    assert screen == ["a remark"]


def test_an_inner_bar_hides_the_outer_one(tmp_path: Path) -> None:
    program = "work(SLOW, stays=True, inside=lambda: work(SLOW, description='inner'))"
    written, screen = on_terminal(program, tmp_path)
    assert "inner 4/5 things" in written
    assert "\n" not in written.partition("inner")[2].rpartition("inner")[0]
    assert len(screen) == 1
    assert screen[0].startswith("work 5/5 things")


@pytest.mark.parametrize("error", ["KeyboardInterrupt", "ValueError"])
def test_a_bar_is_removed_after_an_error(tmp_path: Path, error: str) -> None:
    program = f"""
def fail():
    raise {error}
try:
    work(SLOW, inside=fail)
except {error}:
    say("it ended")
"""
    written, screen = on_terminal(program, tmp_path)
    assert "work 4/5" in written
    assert screen == ["it ended"]


@pytest.mark.parametrize("value", ["lines", "nothing"])
def test_progress_can_be_turned_off(tmp_path: Path, value: str) -> None:
    program = "work(SLOW, inside=lambda: (logging.info('a remark'), logging.warning('a warning')))"
    _, screen = on_terminal(program, tmp_path, AIAYN_PROGRESS=value)
    assert screen == [*(["a remark"] if value == "nothing" else []), "a warning"]


def test_without_a_terminal_there_are_plain_lines(tmp_path: Path) -> None:
    program = "work(SLOW, stays=True, inside=lambda: logging.info('a remark'))\nprint('rich' in sys.modules)"
    result = subprocess.run(
        [sys.executable, "-c", WORK + program], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert (result.stderr, result.stdout) == ("a remark\n", "False\n")


def test_other_processes_write_above_drawn_lines(tmp_path: Path) -> None:
    program = """
import subprocess
for number in range(3):
    draw_lines([f"line {number} {index} " + "x" * 100 for index in range(3)])
    words = [sys.executable, "-c", f"from aiayn.system.progress import say; say('{number} from elsewhere')"]
    subprocess.run(words, check=True)
draw_lines(["the end"])
print()
"""
    _, screen = on_terminal(program, tmp_path)
    assert screen == [*(f"{number} from elsewhere" for number in range(3)), "the end"]


def test_more_lines_than_the_terminal_has_are_counted(tmp_path: Path) -> None:
    with Terminal(
        [sys.executable, "-c", WORK + "draw_lines([f'line {number}' for number in range(20)])"],
        folder=tmp_path,
        lines=10,
    ) as terminal:
        assert terminal.wait() == 0
        assert terminal.screen == [*(f"line {number}" for number in range(8)), "and 12 more"]


def test_the_emulated_screen_behaves_like_a_terminal() -> None:
    written = "one\r\ntwo\x1b[1A\rthree\x1b[K\r\nfour\r\x1b[Jfive\r\n\x1b[?25l\x1b[1msix\x1b[0m\r\n" + "7" * 12
    assert screen_after(written, columns=10) == ["three", "five", "six", "7" * 10, "77"]


def test_without_standard_error_nothing_is_written(tmp_path: Path) -> None:
    program = "sys.stderr = None; say('lost'); work(QUICK); print('done')"
    result = subprocess.run(
        [sys.executable, "-c", WORK + program], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert (result.stdout, result.stderr) == ("done\n", "")
