"""Shells complete verbs, nouns, flags, keys and values after `aiayn -sc install=<shell>`; what is offered works."""

import os
import shutil
import sys
import sysconfig
from pathlib import Path

import pytest
from example_record import example_record
from hypothesis import given
from hypothesis import strategies as st
from omegaconf import OmegaConf
from terminal import Terminal

from aiayn.commands.choices import PATHS, Line
from aiayn.commands.completion import PLAIN, completions
from aiayn.commands.front_end import COMMANDS
from aiayn.commands.report import REPORTS
from aiayn.commands.words import parse_words
from aiayn.config import store
from aiayn.config.compose import compose_command
from aiayn.config.texts import text_keys
from aiayn.config.values import check_values
from aiayn.runs.directory import RunDirectory


def offered(line: str) -> set[str]:
    return {*completions(line, COMMANDS)}


def options(group: str, prefix: str = "") -> set[str]:
    folder = store.group_directory(group)
    names = (str(path.relative_to(folder).with_suffix("")) for path in folder.rglob("*.yaml"))
    return {f"{group}={name}" for name in names if name.startswith(prefix)}


def listed(start: str, *names: str) -> set[str]:
    return {f"{start}{name}" for name in names}


KINDS_OF_ATTENTION = ("scaled_dot", "dot", "general", "additive", "concat", "restricted")

AT_ONCE = {
    "aiayn": set(),
    "aiayn ": {*COMMANDS},
    "aiayn t": {"train", "translate", "tune"},
    "aiayn x": set(),
    "aiayn --v": {"--version"},
    "aiayn trian x": set(),
    "aiayn report ": {*REPORTS},
    "aiayn report p": {"page", "paper", "parameters"},
    "aiayn reproduce t": {*COMMANDS["reproduce"].nouns},
    "aiayn reproduce --": {"--help"},
    "aiayn train --c": {"--cfg", "--config-dir"},
    "aiayn train --cfg ": {"job", "hydra", "all"},
    "aiayn train scale=": options("scale"),
    "aiayn train scale=n": {"scale=nano"},
    "aiayn train scale=pa|scale=nano": set(),
    "aiayn train data=": options("data"),
    "aiayn train experiment=": options("experiment"),
    "aiayn train experiment=table3/c_": options("experiment", "table3/c_"),
    'aiayn train -m "experiment=table3/c_': options("experiment", "table3/c_"),
    "aiayn train experiment=table3/base,table3/b": listed(
        "experiment=table3/base,table3/", "b_dk16", "b_dk32", "big"
    ),  # in a sweep each option once
    "aiayn train hydra/launcher=": listed("hydra/launcher=", "basic", "joblib", "slurm", "ray"),
    "aiayn evaluate scale=": set(),
    "aiayn reproduce table3 scale=n": {"scale=nano"},
    "aiayn reproduce table3 sweeps=": set(),
    "aiayn reproduce table3 format=": listed("format=", "text", "json"),
    "aiayn train format=j": {"format=json"},
    "aiayn export format=": listed("format=", "ctranslate2", "safetensors"),
    "aiayn train force=": listed("force=", "true", "false"),
    "aiayn evaluate splits=": listed("splits=", "dev", "test"),
    "aiayn evaluate splits=[dev,": {"splits=[dev,test"},
    "aiayn evaluate device=": set(),
    "aiayn translate device=c": listed("device=", "cpu"),
    "aiayn report paper table=": listed("table=", "1", "2", "3", "4", "null"),
    "aiayn report paper metrics=": set(),
    "aiayn report matrix metrics=": listed("metrics=", "chrf_pp", "ter", "comet", "null"),
    "aiayn report fidelity profiles=[paper,t": listed("profiles=[paper,", "tensor2tensor_2017", "tensor2tensor_final"),
}
"""What is offered at the end of a line, without a configuration that would have to be composed."""

COMPOSED = {
    "aiayn train model.d_": {"model.d_model=", "model.d_ff=", "model.d_k=", "model.d_v="},
    "aiayn train dat": {"data=", "data."},
    "aiayn train experiment=table3/a_h1 optimization.warm": {"optimization.warmup_steps="},
    "aiayn train experiment=tabel3/a_h1 model.d_modell=3 optimization.warm": {"optimization.warmup_steps="},
    "aiayn train -m seed=1,2 decoding.beam": {"decoding.beam_size="},
    "aiayn train model.attention=": listed("model.attention=", *KINDS_OF_ATTENTION),
    "aiayn plan model.attention=d": {"model.attention=dot"},
    "aiayn train model=recurrent model.attention=": listed("model.attention=", "none", "additive", "dot"),
    "aiayn train scale=paper model.d_model=": {"model.d_model=512"},
    "aiayn train nope=": set(),
    "aiayn train identity.": set(),
    "aiayn train trainer.accelerator=": listed("trainer.accelerator=", "auto", "cpu", "gpu", "cuda"),
    "aiayn train logger.mode=o": listed("logger.mode=", "online", "offline"),
    "aiayn train logger=none logger.mode=": set(),
    "aiayn train callbacks.latest.monitor=": {"callbacks.latest.monitor=step"},
    "aiayn train callbacks.best.auto_insert_metric_name=": {"callbacks.best.auto_insert_metric_name=false"},
    "aiayn train callbacks.best.mode=max callbacks.best.monitor=val/": {"callbacks.best.monitor=val/bleu"},
    "aiayn train data=hub callbacks.best.monitor=": {"callbacks.best.monitor=val/ppl"},
    "aiayn train --cfg=j": {"--cfg=job"},
    "aiayn train trainer.enable_model_summary=t": {"trainer.enable_model_summary=true"},
    "aiayn train data=toy_trees callbacks.best.monitor=val": {"callbacks.best.monitor=val/ppl"},
    "aiayn train sweeps=search hydra.sweeper.objective=": listed("hydra.sweeper.objective=", "ppl", "bleu"),
    "aiayn report table3 outp": {"output="},
    "aiayn report table3 only.": listed("only.", "scale=", "data=", "like="),
    "aiayn report table3 f": {"from=", "format="},
    "aiayn reproduce table2 only.": {"only.data="},
    "aiayn reproduce table3 swe": set(),
    "aiayn evaluate checkp": {"checkpoint="},
    "aiayn evaluate checkpoint=": {"checkpoint=last"},
}
"""The same, by the configuration of what the line chooses; a mistake in it takes nothing away."""


@pytest.mark.parametrize(("line", "expected"), AT_ONCE.items())
def test_a_line_is_completed(line: str, expected: set[str]) -> None:
    assert offered(line) == expected


@pytest.mark.slow
@pytest.mark.parametrize(("line", "expected"), COMPOSED.items())
def test_a_line_is_completed_by_its_configuration(line: str, expected: set[str]) -> None:
    assert offered(line) == expected


@given(st.sampled_from(["aiayn ", "aiayn report ", "aiayn train --", "aiayn train --cfg "]), st.text(max_size=12))
def test_no_line_is_too_strange(start: str, text: str) -> None:
    assert all(each.isprintable() and " " not in each for each in offered(start + text))


def test_paths_are_those_of_the_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run directory is a whole word; names that a shell or Hydra would read as something else are left out."""
    monkeypatch.chdir(tmp_path)
    for name in ("runs/a/run", "runs/a/my runs", "conf/experiment/mine", "runs/.hidden"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "runs/a/run/config.yaml").touch()
    (tmp_path / "conf/experiment/mine/deep.yaml").touch()
    assert offered("aiayn evaluate run=") == {"run=runs/", "run=conf/"}
    assert offered("aiayn evaluate run=runs/") == {"run=runs/a/"}
    assert offered("aiayn evaluate run=[runs/a/") == {"run=[runs/a/run"}
    assert offered("aiayn evaluate run=nowhere/") == set()
    assert offered("aiayn train --config-dir c") == {"conf/"}
    assert offered("aiayn train --config-dir conf experiment=mi") == {"experiment=mine/deep"}
    assert offered("aiayn evaluate init_from=") == set()


@pytest.mark.slow
def test_names_are_those_of_runs(tmp_path: Path) -> None:
    """A table is completed by its own runs, a checkpoint by those of the run that is stated."""
    for number, (experiment, scale) in enumerate([("table3/base", "nano"), ("table3/big", "demo"), ("mine", "small")]):
        directory = RunDirectory(tmp_path / f"{number}")
        directory.checkpoints.mkdir(parents=True)
        (directory.checkpoints / f"step-{number:07}.ckpt").touch()
        directory.join_sweep(f"sweep_{number}")
        example_record(name=f"{number}", experiment=experiment, scale=scale).write(directory.record)
    runs = f"paths.runs={tmp_path}"
    assert offered(f"aiayn report table3 {runs} only.scale=") == listed("only.scale=", "nano", "demo", "null")
    assert offered(f"aiayn report table2 {runs} only.scale=") == {"only.scale=null"}
    assert offered(f"aiayn report comparison {runs} only.scale=s") == {"only.scale=small"}
    assert offered(f"aiayn report comparison {runs} only.scale=small only.sweep=s") == {"only.sweep=sweep_2"}
    assert offered(f"aiayn report comparison {runs} only.experiment=[table3/base,t") == {
        "only.experiment=[table3/base,table3/big"
    }
    assert offered(f"aiayn evaluate run={tmp_path}/1 checkpoint=") == listed("checkpoint=", "last", "1")
    assert offered(f"aiayn evaluate run={tmp_path}/none checkpoint=") == {"checkpoint=last"}
    assert offered("aiayn report table3 paths.runs=nowhere only.scale=") == {"only.scale=null"}


def test_keys_of_paths_are_in_the_schema() -> None:
    assert frozenset().union(*map(text_keys, store.COMMANDS)) >= PATHS - {"from"}


def choices_by_key(line: Line) -> dict[str, list[str]]:
    """The values that are offered of each key, without paths."""
    keys = (key.rstrip("=") for key in line.known_keys())
    values = {key: line.values(key, "", in_list=False) for key in keys if key not in PATHS}
    return {key: [*filter(PLAIN.fullmatch, found)] for key, found in values.items()}


@pytest.mark.long
@pytest.mark.parametrize("verb", [verb for verb in store.COMMANDS if verb not in ("prepare", "check", "report")])
def test_every_value_that_is_offered_is_taken(verb: str) -> None:
    """Those of all keys at once, first the first ones; then the options of groups, one by one."""
    line = Line(verb, "", [], None, has_json=COMMANDS[verb].has_json)
    by_key = {key: values for key, values in choices_by_key(line).items() if key != "format" or not line.has_json}
    keys = {key: values for key, values in by_key.items() if key not in line.groups}
    required = [f"{key}=x" for key in OmegaConf.missing_keys(compose_command(verb))]
    for number in range(max(map(len, keys.values()))):
        words = [f"{key}={values[number]}" for key, values in keys.items() if number < len(values)]
        check_values(OmegaConf.to_object(compose_command(verb, [*required, *words])))
    if verb == "train":
        groups = [group for group in line.groups if group not in ("experiment", "sweeps")]  # whose files have own tests
        for word in [f"{group}={option}" for group in groups for option in line.groups[group]]:
            compose_command(verb, [word])


@pytest.mark.long
@pytest.mark.parametrize("noun", REPORTS)
def test_every_key_of_a_report_is_one(noun: str) -> None:
    line = Line("report", noun, [], None, has_json=True)
    for key, values in choices_by_key(line).items():
        for value in values if key != "format" else ():
            words = parse_words("report", [noun, f"{key}={value}"], [*REPORTS], has_json=True)
            check_values(OmegaConf.to_object(compose_command("report", words.overrides)))


PROMPT = "function fish_prompt; echo 'ready> '; end"

SHELLS = {
    "bash": (["bash", "--norc", "--noprofile", "-i"], 'eval "$(aiayn -sc install=bash)"'),
    "zsh": (["zsh", "-f", "-i"], 'eval "$(aiayn -sc install=zsh)"'),
    "fish": (["fish", "--no-config", "-C", PROMPT], "aiayn -sc install=fish | source"),
}

TYPED = {
    "aiayn repro\tx": "<reproduce><x>",
    "aiayn train scale=na\tx": "<train><scale=nano><x>",
    "aiayn train experiment=table3/e_\tx": "<train><experiment=table3/e_learned><x>",
    "aiayn train -m seed=1,2 experiment=table3/base,table3/e_\tx": (
        "<train><-m><seed=1,2><experiment=table3/base,table3/e_learned><x>"
    ),
    'aiayn train "scale=na\t': "<train><scale=nano>",
    "aiayn translate device=a\tx": "<translate><device=auto><x>",
    "aiayn train optimiz\tadam_ep\t3": "<train><optimization.adam_epsilon=3>",
    "aiayn train model.attention=ad\tx": "<train><model.attention=additive><x>",
}
"""Keys that are pressed, and the words that the program then gets."""

STAND_IN = """\
#!/bin/sh
[ "$1" = -sc ] && exec "{program}" "$@"
printf '<%s>' "$@"
"""
"""Completes as the program does, and prints its words instead of doing what they say."""


@pytest.mark.long
@pytest.mark.parametrize("shell", SHELLS)
def test_a_shell_completes_what_is_typed(shell: str, tmp_path: Path) -> None:
    start, install = SHELLS[shell]
    if shutil.which(shell) is None:
        pytest.skip(f"there is no {shell}")
    program = tmp_path / "aiayn"
    program.write_text(STAND_IN.format(program=Path(sysconfig.get_path("scripts"), "aiayn")))
    program.chmod(0o755)
    own_terminal = [sys.executable, "-c", "import pty, sys; pty.spawn(sys.argv[1:])"]  # it controls the shell
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "HOME": str(tmp_path), "PS1": "ready> ", "TERM": "vt100"}
    with Terminal([*own_terminal, *start], folder=tmp_path, environment=environment) as terminal:

        def press(keys: str, seen: str) -> None:
            terminal.written = ""
            terminal.type(keys)
            terminal.read_until(lambda: seen in terminal.written)

        press("", "ready> ")
        press(f"{install}\n", "ready> ")
        for keys, words in TYPED.items():
            press(f"{keys}\n", words)
