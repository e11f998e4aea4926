"""Any words after a verb give a composed configuration or one line; never a traceback."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

KEYS = ["seed", "model.d_model", "model", "scale", "experiment", "data", "callbacks", "nowhere.x", ""]
VALUES = ["", "null", "1,2", "[1", "{a:1}", "${seed}", "${x", "${scaled:1,no}", "???", "'", "\\", "=", "a b", "-1"]
STATED = st.tuples(st.sampled_from(["", "+", "++", "~"]), st.sampled_from(KEYS), st.sampled_from(VALUES)).map(
    lambda parts: f"{parts[0]}{parts[1]}={parts[2]}"
)
SYMBOLS = st.text("=+~-.,:@${}[]()'\"\\/ #!?a1\n", max_size=8)
WORD = st.text(max_size=12) | SYMBOLS | STATED | st.tuples(st.sampled_from(KEYS), SYMBOLS).map("=".join)


@pytest.mark.slow
@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(words=st.lists(WORD, min_size=1, max_size=2))
@example(words=["model={a:1}"])
@example(words=["model=${head_width:0,0}"])
@example(words=["seed=???"])
@example(words=["model.d_model=???"])
@example(words=["seed=${scaled:1,no}"])
@example(words=["hydra=x"])
@example(words=["+="])
@example(words=["~@a=1"])
@example(words=["hydra.run=x"])
@example(words=["-r"])
@example(words=["--resolve"])
def test_any_words_compose_or_are_answered_in_one_line(aiayn: Any, tmp_path: Path, words: list[str]) -> None:
    said = aiayn("train", *words, "--cfg", "job")
    assert said.code in (0, 2)
    if said.code == 2:
        assert said.err.startswith("aiayn: ")
        assert said.err.count("\n") == 1
    assert not list(tmp_path.iterdir()), "no file is made"
