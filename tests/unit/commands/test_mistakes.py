"""A mistake is answered in one line that names the words and the nearest right ones; no file is made."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from aiayn.commands.front_end import COMMANDS
from aiayn.config.store import options

CommandLine = Callable[..., Any]

NOUNS = ", ".join(COMMANDS["report"].nouns)

MISTAKES = {
    # the grammar
    "trian": "trian: no such verb; did you mean train?",
    "report": f"report: state a report; choose from {NOUNS}",
    "report paramters": "report paramters: did you mean parameters?",
    "xyzzy": "xyzzy: no such verb; choose from " + ", ".join(COMMANDS),
    "plan format=yaml": "format=yaml: choose from text, json",
    "report page format=json": "format=json: prints one document, and report page does not",
    "report cost format=json output=cost.json": "format=json: prints one document, and output=cost.json does not",
    "check -m seed=1,2 format=json": "format=json: the jobs of aiayn check -m would print a document each",
    "train --model.d_ff=3": "--model.d_ff=3: no such flag; an override has no dashes",
    "train seed = 3": "seed: not key=value; aiayn train --help lists the keys",
    "status foo": "foo: not key=value; aiayn status --help lists the keys",
    "train seed=[1": "seed=[1: not key=value as Hydra reads it",
    "train seed=1,2": "seed=1,2: several values need -m",
    "train --cfg": "argument --cfg/-c: expected one argument; see --help",
    "train --package model": "--package: chooses what --cfg shows; state --cfg job as well",
    "train --config-dir nowhere": "--config-dir nowhere: no such folder",
    "-sc install=tcsh": "-sc install=tcsh: state -sc install=bash, or zsh, or fish",
    # keys and options
    "train model.d_modell=3": "model.d_modell: no such key; did you mean model.d_model?",
    "train -m model.d_modell=3,4": "model.d_modell: no such key; did you mean model.d_model?",
    "train max_steps=3": "max_steps: no such key; did you mean optimization.max_steps?",
    "train model.attention_arguments.heat=3": "model.attention_arguments.heat: no such key; +model.att",
    "train trainer.foo=3": "trainer.foo: no such key; it has accelerator, ",
    "train trainer.max_steps=3": "trainer.max_steps: no such key; did you mean optimization.max_steps?",
    "train trainer.model_registry=x": "trainer.model_registry: no such key; it has accelerator, ",
    "train +model.heads=3": "model.heads: no such key",
    "train model.cell=gru": "model.cell: a key of model.kind=recurrent, not of the kind chosen; choose another with ",
    "train data=text_files data.sentences=300": "data.sentences: a key of data.kind=grammar or hub or toy_trees, not ",
    "train data=hub data.sentences=300": "data.sentences=300: has no value of its own; state data.sentences.train, ",
    "train data=text_files data.train.sourc=x": "data.train.sourc: no such key; did you mean data.train.source?",
    "status hydra.run.dri=x": "hydra.run.dri: no such key",
    "train experiment=a_h1": "experiment=a_h1: no such option; did you mean table3/a_h1?",
    "train experiment=baselines/lstm": "experiment=baselines/lstm: no such option; did you mean baselines/lstm_fixed?",
    "train ~experiment": "~experiment: state one experiment; aiayn train --help lists them",
    "train experiment=null": "experiment=null: state one experiment; aiayn train --help lists them",
    "train experiment=[table3/base]": "experiment=[table3/base]: state one experiment; aiayn train --help lists them",
    "train fidelity_for=nonsense": "fidelity_for=nonsense: no such option; choose from table2/base_en_fr/",
    "train experiment=table3/nope": "experiment=table3/nope: no such option; choose from attention/additive, ",
    "train data=qwxyz": f"data=qwxyz: no such option; choose from {', '.join(options('data'))}\n",
    "train -m hydra/launcher=jobib": "hydra/launcher=jobib: no such option; did you mean joblib?",
    "train -m hydra/launcher=slurm hydra.launcher.partitoin=main": "hydra.launcher.partitoin: no such key; did you mean"
    " hydra.launcher.partition?",
    "train sweeps=own_idea hydra.sweeper.seedz=3": "hydra.sweeper.seedz: no such key; did you mean hydra.sweeper.seed",
    "train sweeps=own_idea hydra.sweeper.pilots.seeds=3": "hydra.sweeper.pilots: no such key; choose from hydra.sweepe",
    "train sweeps=own_idea hydra.sweeper.stage=pilots": "hydra.sweeper.stage=pilots: choose from freeze, runs, null",
    "train sweeps=own_idea stage=runs": "stage: no such key; did you mean hydra.sweeper.stage?",
    "train sweeps=own_idea seeds.base=3": "seeds: no such key; did you mean hydra.sweeper.seeds?",
    "plan sweeps=own_idea hydra.sweeper.seeds=0": "hydra.sweeper.seeds=0: state them by row, as in {base: 8, ",
    # computed keys, and folders in which a command writes nothing
    "train identity.name=../../x": "identity.name=../../x: computed, not stated: it follows from experiment, ",
    "train hydra.run.dir=elsewhere": "hydra.run.dir=elsewhere: runs do not lie there; state paths.runs instead",
    "train -m hydra.sweep.dir=elsewhere seed=1,2": "hydra.sweep.dir=elsewhere: runs do not lie there; ",
    "status hydra.run.dir=elsewhere": "hydra.run.dir=elsewhere: aiayn status writes nothing there; ",
    "train hydra.sweeper=null": "hydra.sweeper=null: a group of Hydra; state hydra/sweeper=<option>, or leave it out",
    "train hydra.launcher=null": "hydra.launcher=null: a group of Hydra; state hydra/launcher=<option>",
    "train -m hydra.launcher=null": "hydra.launcher=null: a group of Hydra; state hydra/launcher=<option>",
    # shown only
    "train model.dropout=2 --cfg job": "model.dropout=2.0: must be at least 0 and less than 1",
    "evaluate --cfg job": "run has no value: state it, as in run=",
    # types, ranges, and values that are missing
    "train model.d_model=wide": "model.d_model: Value 'wide'",
    "train model.target_space_embedding=3": "model.target_space_embedding=3: must be true or false",
    "train launch.compile=null": "launch.compile=null: must be true or false",
    "train model.positions=backwards": "model.positions=backwards: choose from sinusoidal, ",
    "train seed=${nowhere}": "seed=${nowhere}: Interpolation key 'nowhere' not found",
    "train seed=${nowhere} --cfg job": "seed: Interpolation key 'nowhere' not found",
    "train seed=${seed} --cfg job": "seed: Recursive interpolation detected",
    "train model=null": "model=null: ValueError: Config group override must be a string or a list. Got NoneType",
    # classes of the user's own
    "train model=plugin": "model.target has no value: state it, as in model.target=",
    "train model=plugin model.target=mine": "model.target=mine: name a class as in my_package.my_module:MyModel",
    "train model.attention=no_ideas:Mine": "model.attention=no_ideas:Mine: there is no module no_ideas; name its ",
    "plan model.positions=no.ideas:Mine": "model.positions=no.ideas:Mine: there is no module no.ideas; name its ",
    "check model=recurrent model.attention=no_ideas:Mine": "model.attention=no_ideas:Mine: choose from none, additive",
    "check +model.attention_arguments.a=1": "model.attention_arguments: only a class of your own takes them; ",
    "check +model.positions_arguments.a=1": "model.positions_arguments: only a class of your own takes them; ",
    "train identity.sources=x": "identity.sources=x: computed, not stated: ",
    "train +callbacks.mine.depth=1": "callbacks.mine: has no _target_",
    "train init_from=nowhere": "init_from=",
    "plan hardware.memory_gib=-1": "hardware.memory_gib=-1.0: must be greater than 0, or null",
    "evaluate run=x launch.timeout_seconds=0": "launch.timeout_seconds=0: must be at least 1",
    "status watch=true interval=0": "interval=0.0: must be greater than 0",
    "sync retries=0": "retries=0: must be at least 1",
    "sync run=nowhere": "run=nowhere: not a run directory",
    "status paths.cache=elsewhere": "paths.cache: no such key; it has runs",
    # reports
    "report paper table=5": "table=5: the paper has tables 1, 2, 3, 4",
    "report table3 output=table3.pdf": "output=table3.pdf: the suffix says the format; choose from .md, ",
    "report table3 paths.runs=nowhere": "paths.runs=nowhere: no such folder",
    "report table3 only.experiment=x": "only.experiment=x: report table3 chooses runs by only.scale, ",
    "report table2 seed=2": "seed=2: is for report table1; leave it out",
    "report run table=3": "table=3: is for report paper; leave it out",
    "report sharpness sentences=0": "sentences=0: must be at least 1",
    # no folder is made above an output
    "report parameters output=no/where/x.md": "output=no/where/x.md: there is no folder no/where; make it",
    "reproduce table3 output=no/x.md": "output=no/x.md: there is no folder no; make it",
    "report paper output=/proc/paper.md": "output=/proc/paper.md: ",
    "train paths.runs=/proc/runs": "/proc/runs: ",
}


def check(said: Any, answer: str = "") -> None:
    assert said.code == 2, said.err
    assert said.out == ""
    assert said.err.startswith(f"aiayn: {answer}")
    assert said.err.count("\n") == 1, said.err


@pytest.mark.parametrize("line", MISTAKES)
def test_a_mistake_is_one_line_and_leaves_nothing(aiayn: CommandLine, line: str, tmp_path: Path) -> None:
    check(aiayn(*line.split()), MISTAKES[line])
    assert list(tmp_path.iterdir()) == []


def test_an_empty_word_is_named(aiayn: CommandLine) -> None:
    check(aiayn("status", ""), "'': not key=value; aiayn status --help lists the keys")


def test_a_cache_that_cannot_be_made_is_refused_when_the_run_has_its_folder(aiayn: CommandLine) -> None:
    check(aiayn("train", "paths.cache=/proc/cache"), "paths.cache=/proc/cache: ")


@pytest.mark.parametrize("words", [["--info"], ["-i", "plugins"]])
def test_hydra_shows_information(aiayn: CommandLine, words: list[str], tmp_path: Path) -> None:
    said = aiayn("train", *words)
    assert (said.code, list(tmp_path.iterdir())) == (0, []), said.err
    assert said.out


def test_a_multirun_of_a_command_that_writes_nothing_leaves_nothing(aiayn: CommandLine, tmp_path: Path) -> None:
    assert aiayn("report", "paper", "table=1,2", "-m").code == 0
    assert list(tmp_path.iterdir()) == []


def test_a_users_file_states_no_folder_of_hydras(aiayn: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "conf" / "experiment").mkdir(parents=True)
    row = "# @package _global_\nhydra:\n  sweep:\n    dir: elsewhere\n"
    (tmp_path / "conf" / "experiment" / "mine.yaml").write_text(row)
    said = aiayn("train", "--config-dir", "conf", "experiment=mine", "-m")
    check(said, "hydra.sweep.dir=elsewhere: runs do not lie there; state paths.runs instead")
    assert [path.name for path in tmp_path.iterdir()] == ["conf"]


def test_a_package_that_does_not_exist_is_one_line(aiayn: CommandLine) -> None:
    said = aiayn("train", "--cfg", "job", "--package", "nowhere")
    assert (said.code, said.err) == (2, "package 'nowhere' not found in config\n")


def test_the_jobs_of_a_multirun_are_refused_one_by_one(aiayn: CommandLine) -> None:
    said = aiayn("train", "-m", "seed=1,2", "model.d_ff=0")
    assert said.code == 1
    assert said.err.count("model.d_ff=0: must be at least 1\n") == 2
    assert said.err.splitlines()[-1].startswith("aiayn: 2 of 2 jobs failed")
