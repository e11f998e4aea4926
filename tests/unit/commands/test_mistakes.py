"""A mistake is answered in one line that names what was typed and the nearest right thing; nothing is left behind."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from aiayn.commands.front_end import COMMANDS
from aiayn.config.store import conf_directory

CommandLine = Callable[..., Any]

FILES = [f"data.{split}.{side}=nowhere.txt" for split in ("train", "dev", "test") for side in ("source", "target")]

TINY = ["data.sentences=10", "data.dev_sentences=1", "data.test_sentences=1", "tokenizer.vocabulary_size=300"]
TINY += ["optimization.max_steps=1", "model.d_ff=4", "logger.mode=disabled"]

NOUNS = ", ".join(COMMANDS["report"].nouns)

MISTAKES: list[tuple[list[str], str]] = [
    # the grammar
    (["trian"], "trian: no such verb; choose from " + ", ".join(COMMANDS)),
    ([""], ": no such verb"),
    (["--frobnicate"], "--frobnicate: no such verb"),
    (["report"], f"aiayn report: of what? Choose from {NOUNS}"),
    (["report", "paramters"], f"aiayn report paramters: choose from {NOUNS}"),
    (["report", "noun=paramters"], f"noun=paramters: choose from {NOUNS}"),
    (["report", "paper", "table=5"], "table=5: the paper has tables 1, 2, 3, 4"),
    (["report", "run"], "run has no value: state "),
    (["report", "table3", "output=table3.pdf"], "output=table3.pdf: the suffix says the format; choose from .md, "),
    (["report", "paper", "output=x.pdf"], "output=x.pdf: the suffix says the format; choose from .md\n"),
    (["report", "table3", "paths.runs=nowhere"], "paths.runs=nowhere: no such folder"),
    (["report", "table3", "scale=nano"], "scale: no such key; did you mean only.scale?"),
    (["report", "table3", "resamples=10"], "resamples=10: must be at least 100"),
    (["report", "table3", "seed=-1"], "seed=-1: must be at least 0"),
    (["report", "comparison", "resamples=0"], "resamples=0: must be at least 100"),
    (
        ["report", "page", "only.sweep=x"],
        "only.sweep=x: report page chooses runs by only.scale, only.data, only.like\n",
    ),
    (["report", "table3", "only.experiment=x"], "only.experiment=x: report table3 chooses runs by only.scale, "),
    (["report", "comparison", "only.like=x"], "only.like=x: report comparison chooses runs by only.scale, "),
    (["report", "paper", "only.scale=nano"], "only.scale=nano: report paper chooses no runs"),
    (["report", "run", "run=nowhere"], "run=nowhere: not a run directory"),
    (["evaluate"], "run has no value: state it, as in run="),
    (["evaluate", "run=nowhere"], "run=nowhere: not a run directory"),
    (["train", "--model.d_ff=3"], "--model.d_ff: no such flag; an override has no dashes"),
    (["train", "seed", "=", "3"], "=: a value without a key"),
    (["train", "seed"], "seed: not key=value as Hydra reads it"),
    (["train", "--config-dir"], "--config-dir: has no value; state it, as in --config-dir <value>"),
    (["train", "--cfg"], "--cfg: state job, hydra or all, as in --cfg job"),
    (["train", "seed=[1"], "seed=[1: not key=value as Hydra reads it"),
    # keys
    (["train", "model.d_modell=3"], "model.d_modell: no such key; did you mean model.d_model?"),
    (["train", "qwertyuiop=1"], "qwertyuiop: no such key; aiayn train --help lists them"),
    (["train", "trainer.precison=32"], "trainer.precison: no such key; did you mean trainer.precision?"),
    (["train", "trainer.max_steps=3"], "trainer.max_steps: state optimization.max_steps instead"),
    (["train", "+trainer.max_steps=3"], "trainer.max_steps: state optimization.max_steps instead"),
    (["train", "trainer.logger=false"], "trainer.logger: state the group logger instead, as in logger=none"),
    (["train", "trainer.foo=3"], "trainer.foo: no such key; it has accelerator, "),
    (["train", "callbacks.latest.foo=3"], "callbacks.latest.foo: no such key; it has filename, "),
    (["train", "paths.runs="], "paths.runs has no value: state it, as in paths.runs="),
    (["train", "+model.heads=3"], "model.heads: no such key"),
    (["train", "trainer.barebones=true"], "trainer.barebones: state logger=none "),
    (
        ["train", "trainer.model_registry=x"],
        "trainer.model_registry: not in conf/trainer; write +trainer.model_registry",
    ),
    (["evaluate", "run=x", "checkpont=best"], "checkpont: no such key; did you mean checkpoint?"),
    # keys that are computed, and folders that nothing would be written to
    (["train", "identity.name=../../x"], "identity.name=../../x: computed, not stated: it follows from experiment, "),
    (["train", "-m", "identity.sweep=a,b"], "identity.sweep=a,b: computed, not stated: "),
    (["train", "hydra.run.dir=elsewhere"], "hydra.run.dir=elsewhere: runs do not lie there; state paths.runs instead"),
    (["train", "-m", "hydra.sweep.dir=elsewhere", "seed=1,2"], "hydra.sweep.dir=elsewhere: runs do not lie there; "),
    (["train", "-m", "hydra.sweep.subdir=x", "seed=1,2"], "hydra.sweep.subdir=x: runs do not lie there; "),
    (["train", "hydra.output_subdir=.hydra"], "hydra.output_subdir=.hydra: runs do not lie there; "),
    (["train", "hydra.job.chdir=true"], "hydra.job.chdir=true: runs do not lie there; "),
    (["train", "hydra.job.name=mine"], "hydra.job.name=mine: it has no effect; leave it out"),
    (["prepare", "hydra.run.dir=elsewhere"], "hydra.run.dir=elsewhere: aiayn prepare writes nothing there; "),
    (["status", "hydra.run.dir=elsewhere"], "hydra.run.dir=elsewhere: aiayn status writes nothing there; "),
    (["train", "model.kind=recurrent"], "model.kind=recurrent: the kind follows from the group; state model=recurrent"),
    # what is only shown
    (["train", "model.dropout=2", "--cfg", "job"], "model.dropout=2.0: must be at least 0 and less than 1"),
    (["train", "model.d_ff=0", "--cfg", "job", "--resolve"], "model.d_ff=0: must be at least 1"),
    (["train", "--package", "model"], "--package: chooses what --cfg shows; state --cfg job as well"),
    (["train", "seed=-1", "--cfg", "job", "--package", "model"], "seed=-1: must be at least 0"),
    (["prepare", "data=hub", "--cfg", "job"], "data.path has no value: state it, as in data.path=..."),
    (["evaluate", "--cfg", "job"], "run has no value: state it, as in run="),
    (["train", "--info", "nowhere"], "--info nowhere: choose from all, config, defaults, defaults-tree, plugins, sea"),
    # options
    (["train", "experiment=table3/a_h2"], "experiment=table3/a_h2: no such option; did you mean table3/a_h"),
    (["train", "experiment=table3/nope"], "experiment=table3/nope: no such option; choose from attention/additive, "),
    (["train", "scale=huge"], "scale=huge: no such option; choose from demo, nano, paper, small"),
    (["train", "data=gramar"], "data=gramar: no such option; did you mean grammar?"),
    # types and ranges
    (["train", "model.d_model=wide"], "model.d_model: Value 'wide'"),
    (
        ["train", "model.positions=backwards"],
        "model.positions: Invalid value 'backwards', expected one of [sinus",
    ),
    (["train", "model.d_model=129", "model.num_heads=1"], "model.d_model=129: must be even with model.positions=sin"),
    (["train", "model.dropout=-0.1"], "model.dropout=-0.1: must be at least 0 and less than 1"),
    (["train", "decoding.beam_size=0"], "decoding.beam_size=0: must be at least 1"),
    (["train", "optimization.max_steps=1.5"], "optimization.max_steps: Value '1.5' of type 'float' could not"),
    (["train", "data.max_length=9999"], "data.max_length=9999: a sentence this long does not fit"),
    (["train", "model.dropout=2"], "model.dropout=2.0: must be at least 0 and less than 1"),
    (["train", "model.num_heads=3"], "model.num_heads=3 does not divide model.d_model=128"),
    (["train", "seed=${nowhere}"], "hydra.run.dir: Interpolation key 'nowhere' not found"),
    # what a third party refuses
    (["train", "trainer.precision=half"], "trainer.precision=half: Precision 'half' is invalid"),
    (
        ["train", "trainer.max_time=banana"],
        "trainer.max_time=banana: state days:hours:minutes:seconds, as in 00:01:30:00",
    ),
    (["train", "+trainer.speed=1"], "trainer.speed: pytorch_lightning.Trainer takes no such argument"),
    (["train", "+callbacks.mine.depth=1"], "callbacks.mine: has no _target_"),
    (["train", "+callbacks.mine._target_=nowhere.X"], "callbacks.mine: there is no _target_ nowhere.X"),
    (["train", "logger._target_=nowhere.Logger"], "logger: there is no _target_ nowhere.Logger"),
    (["train", "logger.mode=sometimes"], "logger.mode=sometimes: choose from auto, online, offline, disabled, shared"),
    # outputs: no folder is made above them
    (["report", "parameters", "output=no/where/x.md"], "output=no/where/x.md: there is no folder no/where; make it"),
    (["report", "parameters", "output=/"], "output=/: "),
    (["report", "page", "output=no/x.html"], "output=no/x.html: there is no folder no; make it"),
    (["compare", "run=a", "against=b", "output=no/x.md"], "output=no/x.md: there is no folder no; make it"),
    (["reproduce", "table3", "output=no/x.md"], "output=no/x.md: there is no folder no; make it"),
    (["dashboard", "dry_run=true", "output=no/x"], "output=no/x: there is no folder no; make it"),
    (["report", "parameters", "output="], "output has no value: state it, as in output="),
    # what is missing
    (["train", "init_from=nowhere"], "init_from="),
    (["train", "init_from="], "init_from has no value"),
    (["train", "data=text_files", *(f"{file.partition('=')[0]}=null" for file in FILES)], "data.train.source=null: "),
    (["train", "data=text_files", "data.train.sourc=x"], "data.train.sourc: no such key; did you mean data.train.sou"),
    (["train", "data=hub"], "data.path has no value: state it, as in data.path=..."),
    (["train", "data=text_files"], "data.dev.source has no value: state it, as in data.dev.source="),
]

LATE_MISTAKES: list[tuple[list[str], str]] = [
    (["train", "trainer.devices=none"], "trainer.devices=none: state a number"),
    (["train", "data=text_files", *FILES], "data."),
    (["train", "paths.cache=/dev/null/cache"], "paths.cache=/dev/null/cache: "),
    (["train", "paths.cache=/proc/cache"], "paths.cache=/proc/cache: "),
]
"""Seen only when the run has its folder."""

NEAREST = [
    ("d_model=3", "d_model: no such key; did you mean model.d_model?"),
    ("max_steps=3", "max_steps: no such key; did you mean optimization.max_steps?"),
    ("experiment=a_h1", "experiment=a_h1: no such option; did you mean table3/a_h1?"),
]

TRACEBACKS = [
    ["train", "seed=-1"],
    ["train", "model=null"],
    ["train", "experiment=null"],
    ["train", "paths.runs=/dev/null/runs"],
    ["train", "hydra.run.dir=/dev/null/runs"],
    ["train", "--cfg=everything"],
    ["train", "paths.runs=/proc/runs"],
    ["evaluate", "run=/proc/1"],
    ["report", "run", "run=/dev/null"],
    ["report", "configuration", "output=/proc/configuration.md"],
    ["report", "parameters", "output=/dev/null/parameters.md"],
    ["report", "parameters", "output="],
    ["-sc"],
    ["-sc", "install=tcsh"],
]


def words(line: Any) -> str:
    return " ".join(line)


def check(said: Any) -> str:
    """The one line."""
    assert said.code == 2, said.err
    assert said.out == ""
    assert said.err.startswith("aiayn: ")
    assert said.err.count("\n") == 1, said.err
    assert "Traceback" not in said.err
    return str(said.err).removeprefix("aiayn: ")


@pytest.mark.parametrize(("line", "answer"), MISTAKES, ids=[words(line) for line, _ in MISTAKES])
def test_a_mistake_is_one_line_and_leaves_nothing(
    aiayn: CommandLine, line: list[str], answer: str, tmp_path: Path
) -> None:
    assert check(aiayn(*line)).startswith(answer)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("line", "answer"), LATE_MISTAKES, ids=[words(line) for line, _ in LATE_MISTAKES])
def test_a_mistake_seen_late_is_one_line(aiayn: CommandLine, line: list[str], answer: str) -> None:
    assert check(aiayn(*line)).startswith(answer)


@pytest.mark.parametrize("line", TRACEBACKS, ids=words)
def test_a_rare_mistake_is_one_line_too(aiayn: CommandLine, line: list[str]) -> None:
    check(aiayn(*line, *(TINY if line[0] == "train" and "--cfg" not in line else [])))


@pytest.mark.parametrize(
    "words", [["--info"], ["--info", "searchpath"], ["-i", "plugins"], ["--info=defaults", "seed=2"]]
)
def test_what_hydra_knows_of_itself_is_shown(aiayn: CommandLine, words: list[str], tmp_path: Path) -> None:
    said = aiayn("train", *words)
    assert said.code == 0, said.err
    assert said.out
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("line", [["status", "view=runs,rows"], ["report", "paper", "table=1,2"]], ids=words)
def test_a_multirun_of_a_command_that_writes_nothing_leaves_nothing(
    aiayn: CommandLine, line: list[str], tmp_path: Path
) -> None:
    aiayn(*line, "-m")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("key", ["hydra.run.dir", "hydra.sweep.dir"])
def test_a_file_of_ones_own_states_no_folder_of_hydras(aiayn: CommandLine, key: str, tmp_path: Path) -> None:
    _, group, name = key.split(".")
    (tmp_path / "conf" / "experiment").mkdir(parents=True)
    (tmp_path / "conf" / "experiment" / "mine.yaml").write_text(
        f"# @package _global_\nhydra:\n  {group}:\n    {name}: elsewhere\n"
    )
    said = aiayn("train", "--config-dir", "conf", "experiment=mine", "-m")
    assert check(said).startswith(f"{key}=elsewhere: runs do not lie there; state paths.runs instead")
    assert [path.name for path in tmp_path.iterdir()] == ["conf"]


def test_a_package_that_does_not_exist_is_one_line(aiayn: CommandLine) -> None:
    said = aiayn("train", "--cfg", "job", "--package", "nowhere")
    assert (said.code, said.err) == (2, "package 'nowhere' not found in config\n")


@pytest.mark.parametrize(("word", "answer"), NEAREST)
def test_the_end_of_a_name_is_enough_to_be_told_the_whole(aiayn: CommandLine, word: str, answer: str) -> None:
    assert check(aiayn("train", word)) == f"{answer}\n"


@pytest.mark.parametrize("group", ["callbacks", "data", "experiment"])
def test_an_unknown_option_is_answered_with_all_there_are(aiayn: CommandLine, group: str) -> None:
    folder = conf_directory() / group
    options = sorted(str(path.relative_to(folder).with_suffix("")) for path in folder.rglob("*.yaml"))
    assert check(aiayn("train", f"{group}=qwxyz")).endswith(f"no such option; choose from {', '.join(options)}\n")


def test_the_jobs_of_a_multirun_are_refused_one_by_one(aiayn: CommandLine) -> None:
    said = aiayn("train", "-m", "seed=1,2", "model.d_ff=0")
    assert said.code == 1
    assert said.err.count("model.d_ff=0: must be at least 1\n") == 2
    assert said.err.splitlines()[-1].startswith("aiayn: 2 jobs failed")
    assert "Traceback" not in said.err


def test_a_multirun_with_one_mistake_says_it_once(aiayn: CommandLine) -> None:
    said = aiayn("train", "-m", "model.d_ff=0")
    assert said.err.count("model.d_ff=0: must be at least 1\n") == 1


def test_a_sweep_without_its_flag_is_told_of_it(aiayn: CommandLine) -> None:
    assert "-m" in check(aiayn("train", "seed=1,2"))
