"""Whatever is raised while words are composed, or a job is set up, is one line with the word or the file at fault."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from omegaconf import OmegaConf

from aiayn.config.compose import compose_with_hydra
from aiayn.config.identity import flatten

CommandLine = Callable[..., Any]

AT_FAULT = {
    "train logger=-1": "logger=-1: ValueError: Config group override must be a string or a list. Got int",
    "train callbacks=[1] seed=1": "callbacks=[1]: TypeError: ",
    "train seed=1 ~identity --cfg job": "~identity: AttributeError: ",
    "check ~identity": "~identity: AttributeError: ",
    "train hydra.sweeper=5": "hydra.sweeper=5: a group of Hydra; state hydra/sweeper=<option>, or leave it out",
    "train ~hydra/launcher": "hydra.launcher=???: a group of Hydra; ",
    "train -m ~hydra/sweeper": "hydra.sweeper=???: a group of Hydra; ",
    "train -m +hydra.launcher.foo=5 seed=1,2": "+hydra.launcher.foo=5: TypeError: ",
    "train -m hydra.sweeper._target_=fractions.Fraction": "hydra.sweeper._target_=fractions.Fraction: RuntimeError: ",
    "train seed=1 hydra.verbose=[1]": "hydra.verbose=[1]: TypeError: A logger name must be a string",
    "train hydra.job_logging.handlers=null": "hydra.job_logging.handlers=null: TypeError: ",
    "train hydra.hydra_logging.version=9": "hydra.hydra_logging.version=9: ValueError: Unsupported version: 9",
    "train hydra.job.env_copy=[5]": "hydra.job.env_copy=[5]: KeyError: '5'",
    "train +hydra.callbacks.x._target_=nope.X": "+hydra.callbacks.x._target_=nope.X: ImportError: ",
    "train -m +hydra.callbacks.x._target_=nope.X": "+hydra.callbacks.x._target_=nope.X: ImportError: ",
    "train hydra.job.env_set.A=1": "hydra.job.env_set.A: no such key; +hydra.job.env_set.A=... adds it",
}

ROW = "# @package _global_\n"

FILES: dict[str, tuple[str | bytes, str]] = {
    "wrong type": (ROW + "model: {d_model: wide}\n", "model.d_model: Value 'wide' of type 'str' could not be conv"),
    "group": (ROW + "model: 3\n", "experiment=mine: "),
    "mapping": (ROW + "trainer: 3\n", "trainer: Cannot assign int"),
    "key": (ROW + "model: {d_modell: 3}\n", "model.d_modell: no such key; did you mean model.d_model? ("),
    "option": (
        ROW + "defaults: [/experiment/table3/basis]\n",
        "experiment=table3/basis: no such option; did you mean ",
    ),
    "cycle": (ROW + "defaults: [/experiment/mine]\n", "experiment=mine: refers to itself ("),
    "defaults": (ROW + "defaults: 3\n", "experiment=mine: "),
    "binary": (b"\x00\xff\xfe\x80", "{file}: not text in UTF-8 (invalid start byte at byte "),
    "null key": (ROW + "? null\n: 3\n", "{file}: not a file of configuration ("),
    "null key below": (ROW + "model:\n  null: 3\n", "{file}: not a file of configuration ("),
    "number": ("3\n", "{file}: not a file of configuration ("),
    "package": ("# @package a b\nmodel: 3\n", "{file}: not a file of configuration (ValueError: Too many components"),
    "syntax": (ROW + "model: {d_model: 1\n", "{file}, line 3: not YAML ("),
    "tag": (ROW + "seed: !!python/name:os.system\n", "{file}, line 2: not YAML ("),
    "alias of itself": (ROW + "model: {d_model: &a [*a]}\n", "{file}: its aliases stand for more than 100,000 values"),
    "aliases": (
        "a0: &a0 [1, 1]\n" + "".join(f"a{n}: &a{n} [{', '.join(9 * [f'*a{n - 1}'])}]\n" for n in range(1, 12)),
        "{file}: its aliases stand for more than 100,000 values",
    ),
}


def check(said: Any, answer: str) -> None:
    assert (said.code, said.out) == (2, ""), said.err
    assert said.err.startswith(f"aiayn: {answer}"), said.err
    assert said.err.count("\n") == 1, said.err


@pytest.mark.parametrize("line", AT_FAULT)
def test_the_word_at_fault_is_named_and_no_file_is_left(aiayn: CommandLine, line: str, tmp_path: Path) -> None:
    check(aiayn(*line.split()), AT_FAULT[line])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", FILES)
def test_the_file_at_fault_is_named(aiayn: CommandLine, name: str, tmp_path: Path) -> None:
    content, answer = FILES[name]
    file = tmp_path / "conf" / "experiment" / "mine.yaml"
    file.parent.mkdir(parents=True)
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    said = aiayn("train", "--config-dir", "conf", "experiment=mine", "--cfg", "job")
    check(said, answer.format(file=file))
    assert str(file) in said.err


def test_the_file_that_another_one_names_is_the_one_at_fault(aiayn: CommandLine, tmp_path: Path) -> None:
    folder = tmp_path / "conf" / "experiment"
    folder.mkdir(parents=True)
    (folder / "mine.yaml").write_text(ROW + "defaults: [/experiment/other]\n")
    (folder / "other.yaml").write_bytes(b"\xff")
    said = aiayn("train", "--config-dir", "conf", "experiment=mine", "--cfg", "job")
    check(said, f"{folder / 'other.yaml'}: not text in UTF-8 (invalid start byte at byte ")


def test_hydras_own_configuration_is_shown_with_its_values(aiayn: CommandLine) -> None:
    said = aiayn("train", "seed=3", "--cfg", "hydra", "--resolve")
    assert said.code == 0, said.err
    assert "dir: runs/table3/base/demo-seed3-" in said.out
    assert "${" not in said.out


@pytest.mark.slow
def test_hydras_own_help_takes_the_words_of_a_command(aiayn: CommandLine) -> None:
    said = aiayn("train", "scale=demo", "--hydra-help")
    assert (said.code, said.err) == (0, "")


@cache
def keys(verb: str) -> list[str]:
    content = OmegaConf.to_container(compose_with_hydra(verb), resolve=False)
    assert isinstance(content, dict)
    leaves = [*flatten({str(key): value for key, value in content.items()})]
    above = {".".join(key.split(".")[:end]) for key in leaves for end in range(1, key.count(".") + 1)}
    return sorted({*leaves, *above, "hydra/launcher", "hydra/sweeper", "hydra/job_logging"})


VALUES = [
    "",
    "null",
    "5",
    "-1",
    "1e400",
    "true",
    "[1]",
    "[]",
    "{a:1}",
    "{}",
    "${nowhere}",
    "${.x}",
    "???",
    "x",
    "x/../y",
]
WORDS = st.builds(
    "{}{}={}".format, st.sampled_from(["", "", "+", "++"]), st.sampled_from(keys("train")), st.sampled_from(VALUES)
)
WORDS |= st.sampled_from(keys("train")).map("~{}".format)


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(word=WORDS.filter(lambda word: "hydra" in word))
def test_a_job_is_set_up_with_any_value_of_a_key_of_hydras_or_refused_in_one_line(aiayn: Any, word: str) -> None:
    said = aiayn("report", "paper", "table=1", word)
    assert said.code in (0, 2), said.err
    assert said.code == 0 or (said.err.startswith("aiayn: ") and said.err.count("\n") == 1), said.err
