"""Any words after a verb give a composed configuration or one line; never a traceback."""

import contextlib
import io
import os
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from aiayn.commands.front_end import main
from aiayn.sweep.words import SWEEP_VARIABLE

KEYS = ["seed", "model.d_model", "model", "scale", "experiment", "data", "callbacks", "nowhere.x", ""]
VALUES = ["", "null", "1,2", "[1", "{a:1}", "${seed}", "${x", "${scaled:1,no}", "???", "'", "\\", "=", "a b", "-1"]
STATED = st.tuples(st.sampled_from(["", "+", "++", "~"]), st.sampled_from(KEYS), st.sampled_from(VALUES)).map(
    lambda parts: f"{parts[0]}{parts[1]}={parts[2]}"
)
SYMBOLS = st.text("=+~-.,:@${}[]()'\"\\/ #!?a1\n", max_size=8)
WORD = st.text(max_size=12) | SYMBOLS | STATED | st.tuples(st.sampled_from(KEYS), SYMBOLS).map("=".join)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.slow
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(words=st.lists(WORD, min_size=1, max_size=2))
@example(words=["model={a:1}"])
@example(words=["model=${head_width:0,0}"])
@example(words=["hydra=x"])
@example(words=["+="])
@example(words=["~@a=1"])
@example(words=["hydra.run=x"])
@example(words=["-r"])
@example(words=["--resolve"])
def test_any_words_compose_or_are_answered_in_one_line(here: None, words: list[str]) -> None:
    said = io.StringIO()
    with (
        pytest.MonkeyPatch.context() as given_back,
        contextlib.redirect_stderr(said),
        contextlib.redirect_stdout(io.StringIO()),
    ):
        given_back.setattr(sys, "argv", sys.argv)
        given_back.setitem(os.environ, "HYDRA_FULL_ERROR", "1")
        given_back.setenv(SWEEP_VARIABLE, "")
        given_back.delenv(SWEEP_VARIABLE)
        code = main(["train", *words, "--cfg", "job"])
    assert code in (0, 2)
    if code == 2:
        assert said.getvalue().startswith("aiayn: ")
        assert said.getvalue().count("\n") == 1
    assert not list(Path.cwd().iterdir()), "no file is made"
