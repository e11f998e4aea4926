"""Whatever a run's files, a configuration or the words of a command hold: one line, no traceback, nothing lost."""

import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import hostile
import pytest
from commands import AIAYN, SECONDS, Finished
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from omegaconf import OmegaConf

from aiayn.commands.composing import compose_first, typed_configuration
from aiayn.commands.front_end import COMMANDS
from aiayn.config.compose import register
from aiayn.errors import RunFailedError, UserError

MANY = 1_500
"""Examples of a long test."""

READERS = (
    ("status",),
    *(("report", noun) for noun in ("table3", "comparison", "cost", "table2", "reproductions")),
    ("report", "page", "output={folder}/page.html"),
    ("report", "run", "run={run}"),
    ("compare", "run={run}", "against={other}", "resamples=100"),
)
"""Commands that read the files of runs, with those words that are needed."""


@pytest.fixture(scope="module")
def reading(finished: Finished, tmp_path_factory: pytest.TempPathFactory) -> "Reading":
    """The commands that read runs, composed once, and two runs for them."""
    return Reading(finished(), tmp_path_factory.mktemp("hostile"))


class Reading:
    """Two runs below one folder, of which one is edited, and the commands that read them."""

    def __init__(self, run: Path, folder: Path) -> None:
        self.run, self.folder = run, folder
        self.runs = folder / "runs"
        self.edited, self.other = (self.runs / "table3" / "base" / name for name in (run.name, "whole"))
        self.files = hostile.editable(run)
        hostile.fresh_copy(run, self.other)

    def words(self, command: tuple[str, ...]) -> list[str]:
        """The words of a command on these runs."""
        stated = [word.format(run=self.edited, other=self.other, folder=self.folder) for word in command]
        return stated if command[0] == "compare" or "run" in command else [*stated, f"paths.runs={self.runs}"]

    @cache  # noqa: B019
    def command(self, words: tuple[str, ...]) -> tuple[Callable[[Any], object], Any]:
        """The function of a command, and its composed arguments."""
        verb, *stated = self.words(words)
        if COMMANDS[verb].nouns:
            stated[0] = f"noun={stated[0]}"
        return import_module(f"aiayn.commands.{verb}").main, typed_configuration(verb, stated)

    def edit(self, number: int, edits: list[hostile.Edit]) -> None:
        """Make one of the runs anew, and edit a file of it."""
        hostile.fresh_copy(self.run, self.edited)
        path = self.edited / self.files[number % len(self.files)]
        for edit in edits:
            if path.is_file() and not path.is_symlink():
                hostile.apply(edit, path)


def check_edited_run(
    reading: Reading,
    number: int,
    edits: list[hostile.Edit],
    words: tuple[str, ...],
    shown: "pytest.CaptureFixture[str]",
) -> None:
    """A command answers an edited run in one line or with its table, and changes no file."""
    reading.edit(number, edits)
    before = hostile.state_of(reading.folder)
    main, config = reading.command(words)
    with suppress(UserError, RunFailedError):
        main(config)
    after = hostile.state_of(reading.folder)
    assert {name: content for name, content in after.items() if name != "page.html"} == {
        name: content for name, content in before.items() if name != "page.html"
    }
    said = shown.readouterr()
    assert "Traceback" not in said.out + said.err


def few(examples: int) -> settings:
    """So many examples, each with the fixtures of the whole test."""
    return settings(
        max_examples=examples, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
    )


EDITED_RUN = {
    "number": st.integers(0, 100),
    "edits": st.lists(hostile.EDITS, min_size=1, max_size=2),
    "words": st.sampled_from(READERS),
}


@pytest.mark.slow
@few(60)
@given(**EDITED_RUN)
def test_an_edited_run_is_read_or_named_in_one_line(
    reading: Reading, capfd: pytest.CaptureFixture[str], number: int, edits: list[hostile.Edit], words: tuple[str, ...]
) -> None:
    check_edited_run(reading, number, edits, words, capfd)


@pytest.mark.long
@few(MANY)
@given(**EDITED_RUN)
def test_many_edited_runs_are_read_or_named_in_one_line(
    reading: Reading, capfd: pytest.CaptureFixture[str], number: int, edits: list[hostile.Edit], words: tuple[str, ...]
) -> None:
    check_edited_run(reading, number, edits, words, capfd)


@cache
def keys_of(verb: str) -> list[str]:
    """The dotted keys of a command, Hydra's and those of whole groups included."""

    def below(node: Any, above: str) -> Iterator[str]:
        for key, inner in node.items() if isinstance(node, dict) else ():
            yield f"{above}{key}"
            yield from below(inner, f"{above}{key}.")

    register()
    composed, _ = compose_first(verb, ["noun=table3"] if COMMANDS[verb].nouns else [])
    return [*below(OmegaConf.to_container(composed, resolve=False), "")]


VERBS = [verb for verb in COMMANDS if verb != "reproduce"]

WORDS = st.sampled_from(VERBS).flatmap(
    lambda verb: st.tuples(st.just(verb), st.lists(hostile.words(keys_of(verb)), min_size=1, max_size=2))
)
"""A verb, and words that override any of its keys."""


def check_words(verb: str, words: list[str]) -> None:
    """They are composed and judged, or refused in one line."""
    noun = ["table3"] if COMMANDS[verb].nouns else []
    with suppress(UserError):
        typed_configuration(verb, [*noun, *words])


@pytest.mark.slow
@few(20)
@given(drawn=WORDS)
def test_any_value_of_any_key_is_composed_or_refused_in_one_line(drawn: tuple[str, list[str]]) -> None:
    check_words(*drawn)


@pytest.mark.long
@few(MANY // 2)  # a refusal composes once for each word, to name the one at fault
@given(drawn=WORDS)
def test_many_values_of_any_key_are_composed_or_refused_in_one_line(drawn: tuple[str, list[str]]) -> None:
    check_words(*drawn)


ROW = """\
# @package _global_
# A row.
defaults:
  - base
  - _self_
model:
  num_heads: 4
  d_k: ${scaled:16}
optimization: {label_smoothing: 0.0}
seed: 3
"""


def check_row(folder: Path, edit: hostile.Edit) -> None:
    """A row of one's own is composed and judged, or refused in one line."""
    row = folder / "experiment" / "mine.yaml"
    shutil.rmtree(folder, ignore_errors=True)
    row.parent.mkdir(parents=True)
    row.write_text(ROW)
    hostile.apply(edit, row)
    with suppress(UserError):
        typed_configuration("train", ["experiment=mine"], config_dir=folder)


@pytest.mark.slow
@few(12)
@given(edit=hostile.EDITS)
def test_any_row_is_composed_or_refused_in_one_line(tmp_path: Path, edit: hostile.Edit) -> None:
    check_row(tmp_path / "conf", edit)


@pytest.mark.long
@few(MANY)
@given(edit=hostile.EDITS)
def test_many_rows_are_composed_or_refused_in_one_line(tmp_path: Path, edit: hostile.Edit) -> None:
    check_row(tmp_path / "conf", edit)


def check_process(words: list[str], folder: Path) -> None:
    """A command in a process of its own ends with 0, or with 1 or 2 and one line."""
    done = subprocess.run(
        [*AIAYN, *(word.encode(errors="surrogatepass") for word in words)],  # words may have half a character
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode in (0, 1, 2)
    assert "Traceback" not in done.stdout + done.stderr
    if done.returncode:
        assert re.fullmatch(r"(aiayn: [^\n]*\n)?aiayn: [^\n]*\n", done.stderr), "a remark at most, and one line"


@pytest.mark.slow
@few(4)
@given(**EDITED_RUN)
def test_processes_answer_for_an_edited_run(
    reading: Reading, number: int, edits: list[hostile.Edit], words: tuple[str, ...]
) -> None:
    reading.edit(number, edits)
    check_process(reading.words(words), reading.folder)


@pytest.mark.slow
@few(4)
@given(drawn=WORDS)
def test_processes_answer_any_words(tmp_path: Path, drawn: tuple[str, list[str]]) -> None:
    verb, words = drawn
    check_process([verb, *(["table3"] if COMMANDS[verb].nouns else []), *words, "--cfg", "job"], tmp_path)
    assert not [*tmp_path.iterdir()], "no file is made"
