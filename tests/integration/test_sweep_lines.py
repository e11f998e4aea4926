"""A sweep has a line for each job: drawn over on a terminal, said at begin and end elsewhere."""

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from commands import AIAYN
from terminal import Terminal
from tiny import TINY

from aiayn.system.progress import DELAY_SECONDS

Sweep = Callable[..., list[str]]


@pytest.fixture
def sweep() -> Sweep:
    """The command line of a sweep over two rows."""

    def words(*overrides: str, rows: str = "table3/base,table3/d_ls0") -> list[str]:
        # Outputs as long as the references need, since a remark on those that are cut is a line more.
        always = (f"experiment={rows}", *TINY, "decoding.max_extra_length=20", "logger=none")
        return [*AIAYN, "train", "-m", *always, *overrides]

    return words


def job_lines(screen: list[str]) -> dict[str, str]:
    """What stands of each job, by its number."""
    found = [re.fullmatch(r"(\d+/\d+) (table3/\w+ seed \d+) +(.*)", line) for line in screen]
    return {match[1]: f"{match[2]}: {match[3]}" for match in found if match}


@pytest.mark.long
@pytest.mark.parametrize(
    "launcher",
    [(), ("hydra/launcher=joblib", "hydra.launcher.n_jobs=2")],
    ids=["one by one", "side by side"],
)
def test_a_terminal_has_one_line_for_each_job_and_the_table(
    tmp_path: Path, sweep: Sweep, launcher: tuple[str, ...]
) -> None:
    with Terminal(sweep(*launcher, "optimization.max_steps=2"), folder=tmp_path) as terminal:
        terminal.read_until(lambda: "1/2 table3/base" in terminal.written)
        assert terminal.wait(seconds=120) == 0, terminal.written
        told, screen = job_lines(terminal.screen), terminal.screen
    assert set(told) == {"1/2", "2/2"}
    for number, row in (("1/2", "base"), ("2/2", "d_ls0")):
        assert re.match(rf"table3/{row} seed 1: finished  PPL [\d.]+  BLEU [\d.]+  trained \d+ s", told[number])
    before = screen[: next(number for number, line in enumerate(screen) if line.split()[:1] == ["experiment"])]
    others = [line for line in before if line and not line.startswith(("1/2 ", "2/2 "))]
    assert sum(line.startswith(("1/2 ", "2/2 ")) for line in before) == 2, "a line for each job comes before the table"
    assert others in ([], ["aiayn train: loading libraries"]), "the latter where that took more than a second"
    assert screen[-1] == "2 finished"


@pytest.mark.long
def test_ctrl_c_leaves_what_was_done_and_says_what_was_not(tmp_path: Path, sweep: Sweep) -> None:
    with Terminal(sweep("optimization.max_steps=100000"), folder=tmp_path) as terminal:
        terminal.read_until(lambda: "running  step" in terminal.written)
        terminal.interrupt()
        assert terminal.wait() == 1
        told, screen = job_lines(terminal.screen), terminal.screen
    assert re.match(r"table3/base seed 1: interrupted at step [\d,]+ of 100,000", told["1/2"])
    assert any(line.startswith("aiayn: ") for line in screen)
    assert set(told) == {"1/2"}


@pytest.mark.long
def test_a_file_has_plain_lines_of_begin_and_end_and_the_rows(tmp_path: Path, sweep: Sweep) -> None:
    words = sweep("optimization.learning_rate_factor=1.0,2.0", "optimization.max_steps=2", rows="table3/base")
    result = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "\x1b" not in result.stderr + result.stdout
    assert "\r" not in result.stderr
    for number, factor in (("1/2", "1.0"), ("2/2", "2.0")):
        job = f"{number} table3/base learning_rate_factor={factor} seed 1  "
        lines = [line.removeprefix(job) for line in result.stderr.splitlines() if line.startswith(job)]
        assert lines[0] == "begun"
        assert lines[1].startswith("finished  PPL ")
        assert len(lines) == 2
    assert result.stdout.count("this run") == 2, "a row for each"
    records = [json.loads(path.read_text()) for path in tmp_path.glob("runs/*/*/*/run.json")]
    assert len(records) == 2


@pytest.mark.long
def test_a_single_run_has_its_bar_remarks_above_it_and_its_row(tmp_path: Path) -> None:
    enough = tmp_path / "enough"
    waits = f"+callbacks.waiting={{_target_: observers.WaitAt, batch: 10, path: {enough}}}"
    words = [*AIAYN, "train", *TINY, "logger=none", waits]
    with Terminal(words, folder=tmp_path, columns=200) as terminal:
        terminal.read_until(lambda: any(tmp_path.glob("runs/*/*/*/metrics.jsonl")))
        terminal.read_for(DELAY_SECONDS)
        enough.touch()
        assert terminal.wait(seconds=120) == 0, terminal.written
        screen = terminal.screen
    (bar,) = [line for line in screen if line.startswith("train ")]
    assert bar.startswith("train 12/12 ")
    assert any("this run" in line for line in screen)
    (log,) = tmp_path.glob("runs/*/*/*/run.log")
    remarks = [line.partition(" aiayn: ")[2] for line in log.read_text().splitlines()]
    assert remarks
    assert [line for line in screen if line in remarks] == remarks, "whole, and in their order"
