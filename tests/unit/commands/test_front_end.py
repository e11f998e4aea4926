"""One grammar for every command: results on standard output, exit code 0, 2 for a mistake, 1 for a failure."""

import dataclasses
import os
import re
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from aiayn import __version__
from aiayn.commands.front_end import COMMANDS
from aiayn.config import store
from aiayn.config.compose import compose_command
from aiayn.config.difference import SWEEP_VARIABLE

CommandLine = Callable[..., Any]
SCRIPT = Path(sysconfig.get_path("scripts")) / "aiayn"
CLEAN = {key: value for key, value in os.environ.items() if key != "HYDRA_FULL_ERROR"}


def test_help_lists_every_verb_and_noun(aiayn: CommandLine) -> None:
    said = aiayn("--help")
    assert (said.code, said.err) == (0, "")
    for verb, command in COMMANDS.items():
        (_, found) = said.out.split(f"\n  {verb} ")
        entry = " ".join(re.split(r"\n(?! {12})", found)[0].split())
        assert entry.startswith(command.summary)
        assert entry.removeprefix(command.summary).strip(": ").split(", ") == [*command.nouns] or not command.nouns
    assert max(map(len, said.out.splitlines()[:-3])) <= 80


def test_without_a_word_the_help_is_shown_and_the_code_is_two(aiayn: CommandLine) -> None:
    said = aiayn()
    assert (said.code, said.out) == (2, aiayn("--help").out)


@pytest.mark.parametrize("quote", ["", "'", '"'])
@pytest.mark.parametrize("words", [["status"], ["sync"], ["train", "scale=nano", "--cfg", "job", "--package", "paths"]])
def test_a_value_may_be_below_the_home_folder(
    aiayn: CommandLine, monkeypatch: pytest.MonkeyPatch, words: Sequence[str], quote: str
) -> None:
    home = "/it's" if quote == '"' else "/home of/\\1"
    monkeypatch.setenv("HOME", home)
    said = aiayn(*words, f"paths.runs={quote}~/a/~b{quote}")
    assert f"{home}/a/~b" in said.out + said.err
    assert not Path("~").exists()


def test_the_version_is_the_packages(aiayn: CommandLine) -> None:
    assert aiayn("--version") == (0, f"aiayn {__version__}\n", "")


@pytest.mark.parametrize("verb", store.COMMANDS)
def test_help_of_a_verb_shows_its_keys_and_examples(aiayn: CommandLine, verb: str) -> None:
    said = aiayn(verb, "--help")
    assert (said.code, said.err) == (0, "")
    shown = {
        line.split("=")[0].split(".")[0].strip() for line in said.out.partition("Values (key=value):")[2].split("\n")
    }
    assert {field.name for field in dataclasses.fields(store.COMMANDS[verb])} <= shown
    examples = [line.split() for line in said.out.partition("Examples:\n")[2].partition("\n\n")[0].splitlines()]
    assert examples
    for example in examples:  # tests/unit/test_documents.py composes them
        start = example.index("aiayn")  # variables may stand before it
        assert example[start : start + 2] == ["aiayn", verb]


def test_the_configuration_is_printed_as_yaml(aiayn: CommandLine, tmp_path: Path) -> None:
    overrides = ["scale=paper", "experiment=table3/big", "model.d_k=3"]
    said = aiayn("train", *overrides, "--cfg", "job", "--resolve")
    assert (said.code, said.err) == (0, "")
    printed, composed = yaml.safe_load(said.out), compose_command("train", overrides)
    assert printed["identity"] == dict(composed.identity)
    assert printed["model"]["d_k"] == composed.model.d_k
    assert list(tmp_path.iterdir()) == [], "no folder is made"


def test_flags_stand_anywhere(aiayn: CommandLine) -> None:
    said = aiayn("train", "seed=5", "-c", "job", "scale=nano")
    assert said == aiayn("train", "seed=5", "scale=nano", "--cfg=job")
    assert said.code == 0


def test_a_noun_is_a_bare_word_or_a_value(aiayn: CommandLine) -> None:
    assert aiayn("report", "run", "--cfg", "job") == aiayn("report", "noun=run", "--cfg", "job")


def test_a_report_is_written_to_its_output(aiayn: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    assert aiayn("report", "parameters", "output=deep/parameters.md") == (0, "deep/parameters.md\n", "")
    assert [path.name for path in tmp_path.rglob("*.*")] == ["parameters.md"]


def test_every_verb_is_documented_by_a_file() -> None:
    files = {path.stem for path in store.conf_directory().glob("*.yaml") if not path.stem.startswith("base")}
    assert files == set(store.COMMANDS) == set(COMMANDS) - {"reproduce"}


def test_the_module_is_the_script(tmp_path: Path) -> None:
    words = ["report"]
    script, module = (
        subprocess.run([*program, *words], cwd=tmp_path, env=CLEAN, capture_output=True, text=True, check=False)
        for program in ([str(SCRIPT)], [sys.executable, "-m", "aiayn"])
    )
    assert (module.returncode, module.stdout, module.stderr) == (script.returncode, script.stdout, script.stderr)
    assert module.stderr


def test_a_closed_pipe_is_no_mistake(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "aiayn", "train", "--cfg", "job"]
    with subprocess.Popen(
        command, cwd=tmp_path, env=CLEAN, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.stderr is not None
        assert process.stderr.read() == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux")
@pytest.mark.parametrize("words", ["--help", "status", "report paper"])
def test_a_standard_output_that_fails_is_one_line(words: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "aiayn", *words.split()]
    (tmp_path / "runs").mkdir()
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            command, cwd=tmp_path, env=CLEAN, stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    answer = "aiayn: writing failed (No space left on device): make room, or write elsewhere\n"
    assert (done.returncode, done.stderr) == (1, answer)


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("seed=1,2", "seeds"),
        ("model.positions=learned model.dropout=0.1,0.3", "model.dropout=0.1,0.3 model.positions=learned"),
        ("scale=nano experiment=table3/base,table3/big", "experiment=table3/base,table3/big scale=nano"),
    ],
)
def test_a_multirun_is_named_by_its_words_whatever_the_seeds(
    words: str, name: str, aiayn: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    for more in ([], ["seed=1,2,3", "paths.runs=elsewhere", "logger.mode=offline", "trainer.devices=1"]):
        monkeypatch.delenv(SWEEP_VARIABLE, raising=False)
        own = [word for word in words.split() if not (more and word.startswith("seed="))]
        aiayn("train", *own, *more, "--cfg", "job", "--multirun")
        assert os.environ[SWEEP_VARIABLE] == name
    composed = compose_command("train", ["seed=1"])
    assert composed.identity.sweep == name
    assert composed.identity.hash == compose_command("train", ["seed=1", "identity.sweep=other"]).identity.hash


def test_a_long_name_of_a_multirun_is_cut_but_stays_unique(aiayn: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    names = set()
    for last in (98, 99):
        monkeypatch.delenv(SWEEP_VARIABLE, raising=False)
        aiayn("train", f"model.d_ff={','.join(map(str, [*range(60), last]))}", "--cfg", "job", "-m")
        names.add(os.environ[SWEEP_VARIABLE])
    assert len(names) == 2
    assert max(map(len, names)) <= 120


@pytest.mark.parametrize(
    ("word", "complaint"),
    [
        ("experiment=table3/base.yaml", "experiment=table3/base.yaml: its name is table3/base; state experiment="),
        ("experiment=table3//base", "experiment=table3//base: its name is table3/base; state experiment=table3/base"),
        ("data=grammar.yaml", "data=grammar.yaml: its name is grammar; state data=grammar"),
        ("sweeps=table3.yaml", "sweeps=table3.yaml: its name is table3; state sweeps=table3"),
        ("paths.runs='~no one/x'", "paths.runs='~no one/x': there is no home folder ~no one; state"),
        ("output='~no one'", "output='~no one': there is no home folder ~no one; state the path in full"),
    ],
)
def test_an_option_has_one_spelling_and_a_home_folder_exists(aiayn: CommandLine, word: str, complaint: str) -> None:
    assert aiayn("train", word).refuses_by(complaint)


def test_a_wrong_variable_of_slurm_is_a_line(aiayn: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLURM_STEP_NUM_TASKS", "abc")
    assert aiayn("train", "model.d_model=x").refuses_by("")
    assert aiayn("nothing").refuses_by("nothing: no such verb")
